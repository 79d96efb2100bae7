/**
 * `node scripts/regressions.js`: makes the schedules in src/lab/sim/regressions anew, one for each rule that seeds can do
 * without: the shortest of a few. Needed when the simulator has learned to decide something new and the old lists say nothing.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.js'

prepare('run')
const { replay, scheduleOf, shrink } = await import('../dist/lab/index.js')
const folder = fileURLToPath(new URL('../src/lab/sim/regressions', import.meta.url))
const RULES = ['R3', 'R5', 'R6', 'R8', 'R10']
const SEEDS = 300
const TRIES = 4
/** Longer ones take long to shrink. */
const MOST_EVENTS = 400

for (const rule of RULES) {
  const found = []
  for (let seed = 0; seed < SEEDS && found.length < TRIES; seed++) {
    const schedule = scheduleOf(seed, { without: [rule] })
    if (schedule === null || schedule.events > MOST_EVENTS) continue
    const short = shrink(schedule, 800)
    if (replay(short, 'by label', []).failure === null) found.push(short)
  }
  const [best] = found.sort((a, b) => a.events - b.events)
  if (best === undefined) throw new Error(`no seed below ${SEEDS} fails without ${rule}`)
  const { choices, ...head } = best
  const lines = choices.map((choice) => `    ${JSON.stringify(choice)}`).join(',\n')
  const text = `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "choices": [\n${lines}\n  ]\n}\n`
  writeFileSync(join(folder, `without-${rule}.json`), text)
  console.log(`${rule}: seed ${best.seed}, ${best.checker} after ${best.events} events, ${choices.length} choices`)
}
