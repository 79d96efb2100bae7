import type { FenceRule } from '../partial-fences.ts'
import type { Bench } from './bench.ts'
import type { Reply } from './rig.ts'
import type { Rule } from './rules.ts'

/** The classes of the catalogue of public reports. */
export const faultClasses = [
  'A1',
  'A2',
  'A3',
  'A4',
  'B1',
  'B2',
  'B3',
  'B4',
  'C',
  'D',
  'E',
  'F',
  'G',
  'H',
  'J',
  'K',
] as const
export type FaultClass = (typeof faultClasses)[number]

/**
 * `leak`: another tenant's code stands in the answer. `wrong_status`: a failure is told as a success. `truncation`: the answer
 * is to less than was asked, and does not say so. `stranded`: room is lost, or somebody waits, for ever. `timing`: what
 * another tenant did shows in how long an answer takes.
 */
export type Harm = 'leak' | 'wrong_status' | 'truncation' | 'stranded' | 'timing'

/**
 * What came of one play. `own`: what the request was entitled to. `refused`: an error that says so, or nothing at all.
 * `spoilt`: neither harm nor right; a guard that leaves this has not held.
 */
export interface Outcome {
  readonly ending: 'harmed' | 'own' | 'refused' | 'spoilt'
  /** In a few words: `HTTP 200, own code`, `HTTP 500 kv_integrity`. */
  readonly outcome: string
  /** What was seen, for people: what was stored and what was answered. */
  readonly sample: string
  /** The answer that was neither B's own code nor A's: right all the same if it is what the request gets alone. */
  readonly unclear?: Reply
  /** The rule whose check was the first to fire; null if none had to, as where pages were not handed out too early. */
  readonly caughtBy: string | null
}

/** One way in which an engine can go wrong, and a play that shows it. */
export interface Fault {
  /** Kebab-case. */
  readonly name: string
  readonly class: FaultClass
  readonly harm: Harm
  /** The public reports it is modelled on, as numbered in the catalogue of reports. */
  readonly reports: readonly string[]
  readonly summary: string
  /** Each of them alone, with the bookkeeping, keeps the harm from happening. */
  readonly rules: readonly Rule[]
  /** Of R6 and R7, those that stand whatever is switched off; absent: both. */
  readonly bookkeeping?: readonly FenceRule[]
  play(bench: Bench): Promise<Outcome>
}
