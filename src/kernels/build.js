// Compiles assembly/ into kernels.wasm: `node src/kernels/build.js [FILE]` (default: the committed file beside this one).
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'

const here = dirname(fileURLToPath(import.meta.url))
const target = process.argv[2] ?? join(here, 'kernels.wasm')

const { error, stderr } = await asc.main([
  join(here, 'assembly/index.ts'),
  '--outFile', target,
  '-O3', '--noAssert', '--runtime', 'stub',
  '--enable', 'simd', '--enable', 'threads',
  '--importMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65536',
])
if (error) {
  process.stderr.write(`${stderr.toString()}\n${error.message}\n`)
  process.exitCode = 1
}
