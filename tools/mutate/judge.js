/** Who judges a mutant: the smallest set that ought to notice first, wider ones after it. */
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isKernel } from './tree.js'

const seedsProgram = fileURLToPath(new URL('seeds.js', import.meta.url))
/** A mutant that makes its judge run in circles is dead as well. */
const LIMIT_MS = 180_000

const SIMULATED = ['src/kv/', 'src/cluster/', 'src/admission/', 'src/engine/', 'src/gateway/exchange/']
const FAST_ROOMS = ['src/kv', 'src/cluster', 'src/admission', 'src/engine', 'src/gateway', 'src/kernels/faults.test.ts']
const SLOW_ROOMS = ['src/runtime/worker', 'src/runtime/transfer', 'src/runtime/drills']

const seeds = (count) => ({ name: `${count} seeds`, command: [seedsProgram, String(count)] })
const tests = (...paths) => ({ name: `tests in ${paths.join(', ')}`, command: ['vitest', ...paths] })

/** @param {import('./mutants/index.js').Mutant} mutant */
export function judgesFor(mutant) {
  const isSimulated = SIMULATED.some((room) => mutant.file.startsWith(room))
  const named = mutant.tests ?? []
  const folder = isKernel(mutant) ? 'src/kernels' : dirname(mutant.file)
  const room = mutant.file.split('/').slice(0, 2).join('/')
  const first = named.length > 0 ? [tests(...named)] : isSimulated ? [seeds(60), tests(folder)] : [tests(folder)]
  const wider = [tests(room), tests(...FAST_ROOMS), ...(isSimulated ? [seeds(2000)] : []), tests(...SLOW_ROOMS)]
  const judges = [...first, ...(isSimulated && named.length > 0 ? [seeds(200)] : []), ...wider]
  return judges.filter((judge, i) => judges.findIndex((other) => other.name === judge.name) === i)
}

const verdicts = new Map()

/** Does this judge object to what stands in the folder? `remembered`: to the sources as they are, asked once for all. */
export function hasDied(folder, judge, { remembered = false } = {}) {
  if (!remembered) return run(folder, judge.command)
  let verdict = verdicts.get(judge.name)
  if (verdict === undefined) {
    verdict = run(folder, judge.command)
    verdicts.set(judge.name, verdict)
  }
  return verdict
}

function run(folder, [program, ...args]) {
  const words =
    program === 'vitest'
      ? [join(folder, 'node_modules/vitest/vitest.mjs'), 'run', '--bail=1', '--passWithNoTests', '--reporter=dot', ...args]
      : [program, folder, ...args]
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, words, { cwd: folder, stdio: 'ignore', detached: true })
    const end = () => {
      // Its end may be on its way already.
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL')
    }
    const timer = setTimeout(end, LIMIT_MS)
    process.once('exit', end)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      process.off('exit', end)
      resolve(code !== 0)
    })
  })
}
