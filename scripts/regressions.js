/**
 * `node scripts/regressions.js`: makes the schedules in src/lab/sim/regressions anew, one for each rule that seeds can do
 * without (for R6 one over `shared` as well): the shortest of a few. Needed when the simulator has learned to decide something
 * new and the old lists say nothing.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.js'

prepare('run')
const { replay, scheduleOf, shrink } = await import('../dist/lab/index.js')
const folder = fileURLToPath(new URL('../src/lab/sim/regressions', import.meta.url))
const SEEDS = 300
const TRIES = 4
/** Longer ones take long to shrink. */
const MOST_EVENTS = 400

/** Drawn at the least number, which shrinking goes for, pages go over a socket. */
const isShared = ({ choices }) => choices.some(([label, , value]) => label === 'transport' && value > 0)

const WANTED = [
  ...['R3', 'R5', 'R6', 'R8', 'R10'].map((rule) => ({ rule, name: `without-${rule}`, suits: () => true })),
  { rule: 'R6', name: 'without-R6-shared', suits: isShared },
]

for (const { rule, name, suits } of WANTED) {
  const found = []
  for (let seed = 0; seed < SEEDS && found.length < TRIES; seed++) {
    const schedule = scheduleOf(seed, { without: [rule] })
    if (schedule === null || schedule.events > MOST_EVENTS) continue
    const short = shrink(schedule, 800)
    if (suits(short) && replay(short, 'by label', []).failure === null) found.push(short)
  }
  const [best] = found.sort((a, b) => a.events - b.events)
  if (best === undefined) throw new Error(`no seed below ${SEEDS} fails without ${rule} and gives ${name}`)
  const { choices, ...head } = best
  const lines = choices.map((choice) => `    ${JSON.stringify(choice)}`).join(',\n')
  const text = `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "choices": [\n${lines}\n  ]\n}\n`
  writeFileSync(join(folder, `${name}.json`), text)
  console.log(`${name}: seed ${best.seed}, ${best.checker} after ${best.events} events, ${choices.length} choices`)
}
