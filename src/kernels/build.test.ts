import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { kernelModule } from './module.ts'

it('the committed kernels.wasm is what build.js makes of assembly/, byte for byte', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-kernels-'))
  try {
    const built = join(folder, 'kernels.wasm')
    execFileSync(process.execPath, [fileURLToPath(new URL('./build.js', import.meta.url)), built])
    const committed = readFileSync(new URL('./kernels.wasm', import.meta.url))
    expect(Buffer.compare(readFileSync(built), committed)).toBe(0)
  } finally {
    rmSync(folder, { recursive: true })
  }
  // The compiler takes seconds, and many of them on a busy machine.
}, 120_000)

it('the kernels import the memory and nothing else, and hold no data that an instance would write into it', () => {
  expect(WebAssembly.Module.imports(kernelModule())).toEqual([{ module: 'env', name: 'memory', kind: 'memory' }])
  expect(dataSections()).toBe(0)
})

/** Number of data sections (id 11) of the module. */
function dataSections(): number {
  const wasm = readFileSync(new URL('./kernels.wasm', import.meta.url))
  let found = 0
  for (let at = 8; at < wasm.length; ) {
    const id = wasm[at++]!
    let size = 0
    for (let shift = 0; ; shift += 7) {
      const byte = wasm[at++]!
      size |= (byte & 127) << shift
      if (byte < 128) break
    }
    if (id === 11) found++
    at += size
  }
  return found
}
