/** `node seeds.js FOLDER COUNT`: bundles the simulator of a tree and runs seeds 0 … COUNT - 1; exit 1 at the first that fails. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const [folder, count] = process.argv.slice(2)
const out = mkdtempSync(join(folder, 'seeds-'))
let failed = true
try {
  const bundle = await rolldown({
    input: join(folder, 'src/lab/sim/index.ts'),
    platform: 'node',
    logLevel: 'silent',
  })
  const file = join(out, 'sim.mjs')
  await bundle.write({ file, format: 'esm' })
  await bundle.close()
  const { runSeed } = await import(pathToFileURL(file).href)
  failed = false
  for (let seed = 0; seed < Number(count) && !failed; seed++) failed = runSeed(seed).failure !== null
} finally {
  rmSync(out, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)
