import { bench, type Workshop } from './bench.ts'
import type { Fault, FaultClass, Harm, Outcome } from './fault.ts'
import type { Reply } from './rig.ts'
import { type Guards, guards, type Rule } from './rules.ts'

/** Without any of its rules. */
export interface Baseline {
  readonly harmed: boolean
  readonly sample: string
}

export interface Guarded {
  readonly harmed: boolean
  readonly outcome: string
  readonly caught_by: string | null
}

export interface Alone {
  readonly harmed: boolean
  readonly outcome: string
}

/** What `lab run --json` prints of one fault. */
export interface FaultReport {
  readonly fault: string
  readonly class: FaultClass
  readonly harm: Harm
  readonly rules: readonly Rule[]
  readonly baseline: Baseline
  readonly guarded: Guarded
  /** With only that rule. */
  readonly each: Readonly<Partial<Record<Rule, Alone>>>
}

/** One fault with one set of guards; what the whole report would say of it stands in the same place as there. */
export interface SetReport extends Pick<FaultReport, 'fault' | 'class' | 'harm' | 'rules'> {
  readonly guards: 'none' | 'all' | readonly Rule[]
  readonly harmed: boolean
  readonly outcome: string
  readonly caught_by: string | null
  readonly sample: string
  readonly baseline?: Baseline
  readonly guarded?: Guarded
  readonly each?: FaultReport['each']
}

/** Plays a fault unguarded, with everything that `serve` has, and with each of its rules alone. */
export async function runFault(fault: Fault, workshop: Workshop): Promise<FaultReport> {
  const unguarded = await play(fault, workshop, guards([]))
  const all = await play(fault, workshop, guards('all'))
  const each: Partial<Record<Rule, Alone>> = {}
  for (const rule of fault.rules) {
    const alone = await play(fault, workshop, guards([rule]))
    each[rule] = { harmed: notHeld(alone), outcome: alone.outcome }
  }
  return {
    ...facts(fault),
    baseline: { harmed: unguarded.ending === 'harmed', sample: unguarded.sample },
    guarded: { harmed: notHeld(all), outcome: all.outcome, caught_by: all.caughtBy ?? silently(fault) },
    each,
  }
}

/** Plays a fault with this set of guards alone. */
export async function runWith(fault: Fault, workshop: Workshop, set: Guards['set']): Promise<SetReport> {
  const played = await play(fault, workshop, guards(set))
  const { ending, outcome, sample } = played
  const meant = set === 'all' || set.some((rule) => fault.rules.includes(rule))
  const harmed = meant ? notHeld(played) : ending === 'harmed'
  const caught_by = harmed ? null : (played.caughtBy ?? (meant ? silently(fault, set) : null))
  const common = { ...facts(fault), harmed, outcome, caught_by, sample }
  if (set === 'all') return { ...common, guards: set, guarded: { harmed, outcome, caught_by } }
  const [rule, ...others] = set
  if (rule === undefined) return { ...common, guards: 'none', baseline: { harmed, sample } }
  return {
    ...common,
    guards: set,
    guarded: { harmed, outcome, caught_by },
    ...(others.length === 0 && { each: { [rule]: { harmed, outcome } } }),
  }
}

/** The fault does harm where nothing guards, and none where all do, nor with any of its rules alone. */
export const isAsClaimed = ({ baseline, guarded, each }: FaultReport): boolean =>
  baseline.harmed && !guarded.harmed && Object.values(each).every(({ harmed }) => !harmed)

/** As `isAsClaimed`, of one set: with no guards there is harm, and with one that is meant to catch it there is none. */
export const setIsAsClaimed = ({ guards: set, harmed, rules }: SetReport): boolean => {
  if (set === 'none') return harmed
  return !harmed || (set !== 'all' && !set.some((rule) => rules.includes(rule)))
}

async function play(fault: Fault, workshop: Workshop, set: Guards): Promise<Outcome> {
  const made = bench(workshop, set, fault.bookkeeping ?? ['R6', 'R7'])
  try {
    const outcome = await inTime(fault, workshop, fault.play(made))
    const { unclear } = outcome
    const isRight = unclear !== undefined && (await inTime(fault, workshop, asAlone(workshop, unclear)))
    return isRight ? { ...outcome, ending: 'own', outcome: 'HTTP 200, the same answer as alone' } : outcome
  } finally {
    await made.close()
  }
}

/** The model is not always right about its own context. Is this what the request is answered on an engine of its own (R15)? */
async function asAlone(workshop: Workshop, reply: Reply): Promise<boolean> {
  const clean = bench(workshop, guards('all'), [])
  try {
    const alone = await (await clean.open({})).ask(reply.part, reply.asked)
    return alone.status === reply.status && alone.texts.join('\n') === reply.texts.join('\n')
  } finally {
    await clean.close()
  }
}

/** A play takes milliseconds. One that waits for what never happens is a mistake in the laboratory, and it is said so. */
const PATIENCE_MS = 30_000

function inTime<T>(fault: Fault, { host }: Workshop, outcome: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = host.timers.after(PATIENCE_MS, () => reject(new Error(`${fault.name} does not end`)))
    outcome.then(resolve, reject).finally(() => limit.cancel())
  })
}

const facts = ({ name, class: of, harm, rules }: Fault) => ({ fault: name, class: of, harm, rules }) as const

/** A guard has held when the request got its due or was told no; anything in between counts against it. */
const notHeld = ({ ending }: Outcome): boolean => ending === 'harmed' || ending === 'spoilt'

/** Rules that prevent, and so have nothing to report. */
const SILENT: readonly Rule[] = ['R1', 'R2', 'R6', 'R9', 'R11', 'R12']
const silently = (fault: Fault, set: Guards['set'] = 'all'): Rule | null =>
  fault.rules.find((rule) => SILENT.includes(rule) && (set === 'all' || set.includes(rule))) ?? null
