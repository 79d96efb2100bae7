import { readFileSync } from 'node:fs'
import {
  type CoverageReport,
  type FenceRule,
  fenceRules,
  fencesWithout,
  readSchedule,
  replay,
  runSeeds,
  type Schedule,
  type SeedsReport,
  scheduleOf,
  shrink,
  unseen,
} from '../../lab/index.ts'
import { oneLine } from '../../telemetry/index.ts'
import { type Command, type CommandInput, type ExitCode, noOperands, UsageError, wholeFlag } from '../command.ts'

const MOST = 2 ** 32 - 1

export const labSim: Command = {
  name: 'lab sim',
  summary: 'drive gateway, router, prefill and decode through random faults and check every answer',
  options: {
    seeds: { type: 'string', value: 'N', help: 'how many seeds; default 200' },
    from: { type: 'string', value: 'S', help: 'first seed; default 0' },
    after: { type: 'string', value: 'DIGEST', help: 'digest of the seeds before --from: goes on with it' },
    seed: { type: 'string', value: 'S', help: 'this seed alone' },
    shrink: { type: 'boolean', help: 'for the first seed that fails, look for a shorter schedule and print it' },
    replay: { type: 'string', value: 'FILE', help: 'a printed schedule, choice by choice' },
    without: {
      type: 'string',
      value: 'RULES',
      help: 'with these rules off, e.g. R6 or R5,R8: some seeds fail then (R4 and R7 alone are made up for by others)',
    },
    json: { type: 'boolean', help: 'the report as JSON' },
  },
  examples: [
    'bulkhead lab sim --seeds 1000',
    'bulkhead lab sim --seed 17',
    'bulkhead lab sim --seeds 200 --from 5000 --json',
    'bulkhead lab sim --without R6 --shrink',
  ],
  run: async (input) => {
    noOperands(labSim, input)
    if (input.flags.replay !== undefined) {
      const other = Object.keys(input.flags).find((name) => name !== 'replay' && name !== 'json')
      if (other !== undefined) throw new UsageError(`--replay plays what its file says; it does not go with --${other}`)
      return replayFile(input, String(input.flags.replay))
    }
    const single = input.flags.seed !== undefined
    if (single && (input.flags.seeds !== undefined || input.flags.from !== undefined)) {
      throw new UsageError('--seed names one seed; it does not go with --seeds or --from')
    }
    const from = wholeFlag(input, single ? 'seed' : 'from', { min: 0, max: MOST, absent: 0 })
    const seeds = single ? 1 : wholeFlag(input, 'seeds', { min: 1, max: MOST, absent: 200 })
    if (from + seeds - 1 > MOST)
      throw new UsageError(`the last seed is ${MOST}; ${from} and ${seeds} more go beyond it`)
    const after = digestFlag(input)
    const without = rulesFlag(input)
    const report = runSeeds({ from, seeds, after }, { fences: fencesWithout(...without) })
    const failures = report.failures.map((failure) => ({ ...failure, replay: failure.replay + withoutWords(without) }))
    const [first] = failures
    const found = first !== undefined && input.flags.shrink === true ? scheduleOf(first.seed, { without }) : null
    const schedule = found === null ? null : shrink(found)
    const whole = { ...report, failures }
    if (input.flags.json === true) input.out(`${JSON.stringify(schedule === null ? whole : { ...whole, schedule })}\n`)
    else input.out(`${[...linesOf(whole), ...scheduleLines(schedule)].join('\n')}\n`)
    return report.failures.length === 0 ? 0 : 1
  },
}

function linesOf({ from, seeds, events, fewestEvents, digest, failures, coverage }: SeedsReport): string[] {
  return [
    `${counted(seeds, 'seed')} from ${from}: ${events} events, ${counted(failures.length, 'failure')}, digest ${digest}`,
    `fewest events in a seed: ${fewestEvents}`,
    ...failures.map(
      ({ seed, checker, message, replay: command }) => `  seed ${seed} ${checker}: ${message}: ${command}`,
    ),
    ...coverageLines(coverage),
  ]
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** One line a table; then what was never seen, which a few seeds leave over. */
function coverageLines(coverage: CoverageReport): string[] {
  const tables = Object.entries(coverage).map(([table, tally]) => {
    const counts = Object.entries(tally as Record<string, number>).map(([name, times]) => `${name} ${times}`)
    return `coverage, ${table}: ${counts.join(', ')}`
  })
  const missing = unseen(coverage)
  return [...tables, missing.length === 0 ? 'coverage: everything was seen' : `never seen: ${missing.join(', ')}`]
}

function scheduleLines(schedule: Schedule | null): string[] {
  if (schedule === null) return []
  const { seed, checker, events, requests, choices } = schedule
  return [
    `seed ${seed} shrunk: ${checker} after ${counted(events, 'event')} of ${counted(requests, 'request')}, ${counted(choices.length, 'choice')}; ` +
      'put the next line into a file and replay it with: bulkhead lab sim --replay FILE',
    JSON.stringify(schedule),
  ]
}

/** 1: it fails as it did; 3: it asks for something else than the list has, so nothing was shown. */
function replayFile(input: CommandInput, file: string): ExitCode {
  const schedule = readSchedule(readText(file))
  if (schedule === null) throw new UsageError(`${file} is no schedule as --shrink prints it`)
  const result = replay(schedule, 'exact')
  if (input.flags.json === true) input.out(`${JSON.stringify(result)}\n`)
  else if (result.failure === null) input.out(`seed ${schedule.seed}: nothing failed\n`)
  else input.out(`seed ${schedule.seed} ${result.failure.checker}: ${oneLine(result.failure.message)}\n`)
  if (result.failure === null) return 0
  return result.failure.checker === 'replay' ? 3 : 1
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`)
  }
}

function digestFlag(input: CommandInput): string | undefined {
  const { after } = input.flags
  if (after === undefined) return undefined
  if (typeof after === 'string' && /^[0-9a-f]{16}$/.test(after)) return after
  throw new UsageError('--after takes the digest of an earlier report, 16 hex digits')
}

function rulesFlag(input: CommandInput): readonly FenceRule[] {
  const { without } = input.flags
  if (without === undefined) return []
  const rules = String(without).split(',')
  const unknown = rules.find((rule) => !fenceRules.some((known) => known === rule))
  if (unknown === undefined) return rules as readonly FenceRule[]
  throw new UsageError(`--without knows ${fenceRules.join(', ')}, not ${unknown}`)
}

function withoutWords(rules: readonly FenceRule[]): string {
  return rules.length === 0 ? '' : ` --without ${rules.join(',')}`
}
