import type { Ticket } from '../../admission/index.ts'
import type { Fences, PrefixCacheOptions, Transport } from '../../cluster/index.ts'
import type { Checker } from './checkers/index.ts'
import type { Coverage, Stage } from './coverage.ts'
import type { FaultName, FaultProfile } from './faults.ts'
import type { Digest } from './hash.ts'
import type { Oracle } from './oracle.ts'
import type { World } from './world.ts'

/** What a seed has drawn for the cluster itself. */
export interface SimSettings {
  readonly transport: Transport
  readonly layers: number
  readonly pageSize: number
  readonly prefillPages: number
  readonly decodePages: number
  readonly chunkRows: number
  readonly maxBatch: number
  readonly sweepEvery: number
  readonly window: number
  readonly queuePlaces: number
  readonly queueTimeoutMs: number
  readonly requests: number
  /** Null: off. */
  readonly prefixCache: PrefixCacheOptions | null
}

type Hook = Exclude<keyof Checker, 'name'>

export interface SimFailure {
  readonly checker: string
  readonly message: string
  /** Virtual time, milliseconds. */
  readonly at: number
}

/** What every part of one simulation shares. */
export class SimContext {
  readonly world: World
  readonly oracle: Oracle
  readonly settings: SimSettings
  readonly fences: Fences
  readonly digest: Digest
  readonly coverage: Coverage
  /** Where each request stands that has not ended. */
  readonly stages = new Map<string, Stage>()
  /** Tickets that nobody issued, or that were issued for another time. */
  readonly forgeries = new WeakSet<Ticket>()
  readonly #checkers: readonly Checker[]
  readonly #byHook = new Map<Hook, readonly Checker[]>()
  readonly #writers = new Map<string, number>()
  faults: FaultProfile
  events = 0
  failure: SimFailure | null = null

  constructor(parts: {
    readonly world: World
    readonly oracle: Oracle
    readonly settings: SimSettings
    readonly fences: Fences
    readonly digest: Digest
    readonly coverage: Coverage
    readonly checkers: readonly Checker[]
    readonly faults: FaultProfile
  }) {
    this.world = parts.world
    this.oracle = parts.oracle
    this.settings = parts.settings
    this.fences = parts.fences
    this.digest = parts.digest
    this.coverage = parts.coverage
    this.#checkers = parts.checkers
    this.faults = parts.faults
  }

  /** Asks every checker that has this hook; the first objection of a seed is kept. */
  check<H extends Hook>(hook: H, ask: (checker: Required<Pick<Checker, H>>) => string | null): void {
    if (this.failure !== null) return
    for (const checker of this.#having(hook)) {
      const message = ask(checker)
      if (message === null) continue
      this.fail(checker.name, message)
      return
    }
  }

  /** Lets every checker that has this hook know. */
  tell<H extends Hook>(hook: H, say: (checker: Required<Pick<Checker, H>>) => void): void {
    for (const checker of this.#having(hook)) say(checker)
  }

  fail(checker: string, message: string): void {
    this.failure ??= { checker, message, at: this.world.now }
  }

  #having<H extends Hook>(hook: H): readonly (Checker & Required<Pick<Checker, H>>)[] {
    let having = this.#byHook.get(hook)
    if (having === undefined) {
      having = this.#checkers.filter((checker) => checker[hook] !== undefined)
      this.#byHook.set(hook, having)
    }
    return having as (Checker & Required<Pick<Checker, H>>)[]
  }

  /** A small number for an attempt of a request: whose rows these are. 0 is nobody. */
  writer(requestId: string, attempt: number): number {
    const key = `${requestId}/${attempt}`
    const known = this.#writers.get(key)
    if (known !== undefined) return known
    const writer = this.#writers.size + 1
    this.#writers.set(key, writer)
    this.tell('numbered', (checker) => checker.numbered(writer, requestId))
    return writer
  }

  /** One event and what a machine answered, for the digest. */
  record(machine: string, event: { readonly kind: string }, effects: readonly { readonly kind: string }[]): void {
    this.events++
    this.coverage.record(machine, event, effects)
    this.digest.add(machine)
    this.digest.add(event)
    this.digest.add(effects)
  }

  /** Does this fault happen now? */
  strikes(fault: FaultName): boolean {
    const rate = this.faults[fault]
    if (rate === 0 || !this.oracle.chance(fault, rate)) return false
    this.coverage.fault(fault)
    return true
  }

  /** A short or, when copies are slow in this seed, sometimes a long time. */
  delay(label: string, usual: number): number {
    return this.oracle.choose(label, usual + 1)
  }
}
