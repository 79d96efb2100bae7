/**
 * `npm run simulate [-- --seeds N --slice N --record FILE]`: a long run of the simulator, slice by slice, which goes on where
 * it was stopped. Each slice is a line of the record; a record of other sources is begun anew, so that one digest covers one
 * state of the code. The last line printed says the same as `bulkhead lab sim --seeds N` would after as long.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { prepare } from './prepare.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const USAGE = 'usage: npm run simulate [-- --seeds N --slice N --record FILE]'
const { values } = readArguments({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    seeds: { type: 'string', default: '500000' },
    slice: { type: 'string', default: '5000' },
    record: { type: 'string', default: join(root, '.bulkhead', 'simulator.jsonl') },
  },
})
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const wanted = whole('seeds')
const slice = whole('slice')
prepare('run')
const { runSeeds } = await import('../dist/lab/index.js')
const sources = readFileSync(join(root, 'dist', '.bulkhead-built'), 'utf8')

const done = readRecord()
if (done.seeds > 0) console.error(`bulkhead: ${values.record} holds ${done.seeds} seeds of these sources already`)
let { seeds, events, fewestEvents, digest, seconds } = done
const failures = [...done.failures]
while (seeds < wanted) {
  const report = runSlice(seeds, Math.min(slice, wanted - seeds), digest)
  seeds += report.seeds
  events += report.events
  fewestEvents = Math.min(fewestEvents, report.fewestEvents)
  digest = report.digest
  seconds += report.seconds
  failures.push(...report.failures)
  appendFileSync(values.record, `${JSON.stringify({ sources, ...report })}\n`)
  console.error(`bulkhead: ${seeds} of ${wanted} seeds, ${failures.length} failures, digest ${digest}`)
}
for (const { seed, checker, replay } of failures) console.log(`seed ${seed} ${checker}: ${replay}`)
const rate = (seeds / seconds).toFixed(0)
console.log(
  `${seeds} seeds from 0: ${events} events (at least ${fewestEvents} a seed), ${failures.length} failures, ` +
    `digest ${digest}; ${rate} seeds per CPU second`,
)
process.exit(failures.length === 0 ? 0 : 1)

function runSlice(from, count, after) {
  const before = process.cpuUsage()
  const report = runSeeds({ from, seeds: count, ...(after === null ? {} : { after }) })
  const { user, system } = process.cpuUsage(before)
  return {
    from,
    seeds: count,
    events: report.events,
    fewestEvents: report.fewestEvents,
    digest: report.digest,
    failures: report.failures,
    seconds: (user + system) / 1e6,
  }
}

function readRecord() {
  const nothing = { seeds: 0, events: 0, fewestEvents: Number.MAX_SAFE_INTEGER, digest: null, seconds: 0, failures: [] }
  mkdirSync(dirname(values.record), { recursive: true })
  const lines = existsSync(values.record) ? readFileSync(values.record, 'utf8').trim().split('\n').filter(Boolean) : []
  const slices = lines.map((line) => JSON.parse(line))
  if (slices.length === 0 || slices.some((one) => one.sources !== sources)) {
    writeFileSync(values.record, '')
    return nothing
  }
  return slices.reduce(
    (sum, one) => ({
      seeds: sum.seeds + one.seeds,
      events: sum.events + one.events,
      fewestEvents: Math.min(sum.fewestEvents, one.fewestEvents),
      digest: one.digest,
      seconds: sum.seconds + one.seconds,
      failures: [...sum.failures, ...one.failures],
    }),
    nothing,
  )
}

function readArguments(config) {
  try {
    return parseArgs(config)
  } catch (error) {
    console.error(`bulkhead: ${error.message.split('. ')[0]}\n${USAGE}`)
    process.exit(2)
  }
}

function whole(name) {
  const value = Number(values[name])
  if (Number.isSafeInteger(value) && value > 0) return value
  console.error(`bulkhead: --${name} takes a whole number above 0`)
  process.exit(2)
}
