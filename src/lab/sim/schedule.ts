import { type FenceRule, fenceRules, fencesWithout } from '../partial-fences.ts'
import { type Choice, Divergence, labelledOracle, listedOracle, recorded, seededOracle } from './oracle.ts'
import { runOracle, type SeedResult, type SimOptions } from './run.ts'

/** Everything a run decided, up to its failure: enough to see it again without the seed. */
export interface Schedule {
  /** The seed it was found with. */
  readonly seed: number
  /** Rules that were off. */
  readonly without: readonly FenceRule[]
  readonly checker: string
  readonly message: string
  /** Requests that arrive at least. */
  readonly requests: number
  readonly events: number
  readonly choices: readonly Choice[]
}

type Run = Pick<SimOptions, 'faults' | 'checkers'> & { readonly without?: readonly FenceRule[] }

const optionsOf = ({ without = [], ...rest }: Run, requests: number | null): SimOptions => ({
  ...rest,
  fences: fencesWithout(...without),
  ...(requests === null ? {} : { least: { requests, events: 0 } }),
})

/** A schedule as it was printed; null if the text is none. */
export const readSchedule = (text: string): Schedule | null => {
  let read: Partial<Schedule> | null
  try {
    read = JSON.parse(text) as Partial<Schedule> | null
  } catch {
    return null
  }
  if (typeof read !== 'object' || read === null) return null
  const { seed, without, requests, choices } = read
  const whole = [seed, requests].every((value) => Number.isSafeInteger(value))
  const rules = Array.isArray(without) && without.every((rule) => fenceRules.includes(rule))
  const listed = Array.isArray(choices) && choices.every(isChoice)
  return whole && rules && listed ? (read as Schedule) : null
}

const isChoice = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length === 3 &&
  typeof value[0] === 'string' &&
  Number.isSafeInteger(value[1]) &&
  Number.isSafeInteger(value[2])

/** A seed's schedule; null if the seed does not fail. */
export const scheduleOf = (seed: number, run: Run = {}): Schedule | null => {
  const choices: Choice[] = []
  const result = runOracle(recorded(seededOracle(seed), choices), seed, optionsOf(run, null))
  return asSchedule(result, run.without ?? [], result.leastRequests, choices)
}

const asSchedule = (
  { seed, events, failure }: SeedResult,
  without: readonly FenceRule[],
  requests: number,
  choices: readonly Choice[],
): Schedule | null =>
  failure === null
    ? null
    : { seed, without, checker: failure.checker, message: failure.message, requests, events, choices }

/**
 * `exact`: choice by choice; the failure is called `replay` where the run asks for something else than the list has, or
 * ends before it. `by label`: what a changed simulator still makes of it. `without` overrides the schedule's own.
 */
export const replay = (
  schedule: Schedule,
  how: 'exact' | 'by label',
  without: readonly FenceRule[] = schedule.without,
): SeedResult => {
  const { seed, requests, choices } = schedule
  const oracle = how === 'exact' ? listedOracle(choices) : labelledOracle(choices)
  try {
    return runOracle(oracle, seed, optionsOf({ without }, requests))
  } catch (error) {
    if (!(error instanceof Divergence)) throw error
    const failure = { checker: 'replay', message: error.message, at: 0 }
    return { seed, requests, leastRequests: requests, events: 0, digest: '', failure }
  }
}

/** Runs that one shrinking may cost at most; each is shorter than a seed. */
const MOST_RUNS = 1500

/**
 * A shorter schedule with the same failure, found by leaving out requests, then whole kinds of choices, then blocks of them,
 * each put to the least (after Hypothesis, MacIver and Donaldson, ECOOP 2020: what is shrunk are the choices, so that
 * whatever comes out is a run that can happen).
 */
export const shrink = (schedule: Schedule, mostRuns = MOST_RUNS): Schedule => {
  let best = schedule
  let runs = 0
  const attempt = (choices: readonly Choice[], requests = best.requests): boolean => {
    if (runs >= mostRuns) return false
    runs++
    const made: Choice[] = []
    const { seed, without, checker } = best
    const result = runOracle(recorded(labelledOracle(choices), made), seed, optionsOf({ without }, requests))
    if (result.failure?.checker !== checker) return false
    const shorter = asSchedule(result, without, requests, made)
    if (shorter === null || sizeOf(shorter) >= sizeOf(best)) return false
    best = shorter
    return true
  }
  for (let before = Infinity; sizeOf(best) < before && runs < mostRuns; ) {
    before = sizeOf(best)
    leaveOutRequests(() => best.choices, attempt)
    for (const label of labelsOf(best.choices)) attempt(least(best.choices, label, 0, Infinity))
    for (const label of labelsOf(best.choices)) leastByBlocks(() => best.choices, label, attempt)
    while (best.requests > 1 && attempt(best.choices, best.requests - 1));
  }
  return best
}

/** Events weigh most: what a reader has to follow. Then choices that are not the least. */
const sizeOf = ({ events, requests, choices }: Schedule): number =>
  events * 1e6 + requests * 1e4 + choices.filter(([, , value]) => value !== 0).length

const ARRIVES = ' arrives'

const leaveOutRequests = (choices: () => readonly Choice[], attempt: (choices: Choice[]) => boolean): void => {
  for (const label of labelsOf(choices())) if (label.endsWith(ARRIVES)) attempt(least(choices(), label, 0, Infinity))
}

const leastByBlocks = (
  choices: () => readonly Choice[],
  label: string,
  attempt: (choices: Choice[]) => boolean,
): void => {
  const count = choices().filter((choice) => choice[0] === label).length
  for (let size = Math.ceil(count / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < count; from += size) {
      const changed = least(choices(), label, from, from + size)
      if (changed.some((choice, i) => choice[2] !== choices()[i]?.[2])) attempt(changed)
    }
}

/** The list with the choices `from` to `to` of one label put to the least. */
const least = (choices: readonly Choice[], label: string, from: number, to: number): Choice[] => {
  let seen = 0
  return choices.map((choice) => {
    if (choice[0] !== label) return choice
    const at = seen++
    return at >= from && at < to ? [choice[0], choice[1], 0] : choice
  })
}

const labelsOf = (choices: readonly Choice[]): string[] => [
  ...new Set(choices.filter(([, , value]) => value !== 0).map(([label]) => label)),
]
