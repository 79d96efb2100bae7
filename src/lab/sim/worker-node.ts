import type {
  ClaimEffect,
  RetireEffect,
  RevokeEffect,
  ScrubEffect,
  SweepEffect,
  TelemetryEffect,
} from '../../cluster/index.ts'
import type { LedgerFault, PoolCounts } from '../../kv/index.ts'
import type { ForwardPlan, ForwardResult } from '../../model/index.ts'
import type { Life } from './checkers/index.ts'
import type { SimContext } from './context.ts'
import { SimMemory } from './memory.ts'
import { ForwardRun } from './model.ts'

interface AnyMachine<Event, Effect> {
  step(event: Event): Effect[]
  poolCounts(): PoolCounts
  audit(): LedgerFault | null
}

const AUDIT_EVERY = 16

/** One life of a worker process: a machine, its pool's memory, its forward thread and its copying, all in virtual time. */
export abstract class WorkerNode<
  Event extends { readonly kind: string; readonly now: number },
  Effect extends { readonly kind: string },
> {
  readonly context: SimContext
  readonly life: Life
  readonly memory: SimMemory
  readonly #machine: AnyMachine<Event, Effect>
  /** Set by a claim: a message that led to one was taken on. */
  protected claimed = false
  #alive = true
  #copiesUntil = 0
  #steps = 0

  /** `memory`: as an earlier life left it. */
  constructor(context: SimContext, life: Life, machine: AnyMachine<Event, Effect>, memory?: SimMemory) {
    this.context = context
    this.life = life
    this.#machine = machine
    const { layers, pageSize } = context.settings
    this.memory = memory ?? new SimMemory({ pages: life.pages, pageSize, layers, kvHeads: 1, headDim: 1 })
  }

  get alive(): boolean {
    return this.#alive
  }

  protected get now(): number {
    return this.context.world.now
  }

  /** Memory, machine and everything under way in the process are gone. */
  kill(): void {
    this.#alive = false
  }

  counts(): PoolCounts {
    return this.#machine.poolCounts()
  }

  protected abstract execute(effect: Effect): void

  step(event: Event): void {
    if (!this.#alive) return
    const effects = this.#machine.step(event)
    this.context.record(this.life.role, event, effects)
    for (const effect of effects) this.execute(effect)
    const counts = this.counts()
    this.context.check('counts', (checker) => checker.counts(this.life, counts))
    // The ledger's own audit walks the pool; its cheap form has run at every transition already.
    if (++this.#steps % AUDIT_EVERY === 0) this.audit()
  }

  /** Something writes where it must not: over the guard row of one page. */
  spoilGuard(): void {
    this.memory.spoiled[this.context.oracle.choose('whose guard', this.life.pages)] = 1
  }

  audit(): void {
    const fault = this.#machine.audit()
    if (fault !== null) this.context.fail('audit', fault.message)
  }

  protected common(
    effect: ClaimEffect | RetireEffect | RevokeEffect | ScrubEffect | SweepEffect | TelemetryEffect,
  ): void {
    switch (effect.kind) {
      case 'claim':
        this.claimed = true
        this.context.check('claim', (checker) => checker.claim(this.life, effect.pages, effect.owners))
        this.memory.claim(effect.pages, effect.owners, effect.generations)
        break
      case 'retire':
        this.#giveUp(effect.pages)
        break
      case 'revoke':
        this.memory.retire(effect.pages)
        break
      case 'scrub':
        this.copy(effect.pages, () => {
          this.#giveUp(effect.pages)
          this.step({ kind: 'scrubbed', now: this.now, id: effect.id } as unknown as Event)
        })
        break
      case 'sweep':
        this.later(0, () => {
          const page = effect.table.pages.find((one) => this.memory.spoiled[one] === 1)
          this.step({
            kind: 'swept',
            now: this.now,
            id: effect.id,
            fault: page === undefined ? null : { page, layer: 0 },
          } as unknown as Event)
        })
        break
      case 'telemetry':
        this.context.check('told', (checker) => checker.told(this.life, effect.event))
        break
    }
  }

  protected later(delay: number, run: () => void): void {
    this.context.world.after(delay, () => {
      if (this.#alive) run()
    })
  }

  /** When the next copy begins and ends: they are done one after the other. */
  protected nextCopy(): { readonly begins: number; readonly ends: number } {
    const { context } = this
    const slow = context.strikes('slowCopy')
    const begins = Math.max(this.#copiesUntil, context.world.now)
    this.#copiesUntil = Math.max(begins, context.world.now + context.delay('copy', slow ? 40 : 1))
    return { begins, ends: this.#copiesUntil }
  }

  /** `pages` may be touched until `run` is called, and not after. */
  protected copy(pages: Iterable<number>, run: () => void): void {
    const { context } = this
    const { ends } = this.nextCopy()
    context.check('touchBegins', (checker) => checker.touchBegins(this.life, pages))
    context.world.at(ends, () => {
      if (!this.#alive) return
      context.check('touchEnds', (checker) => checker.touchEnds(this.life, pages))
      run()
    })
  }

  /** The forward thread: one layer after the other, the world going on in between. */
  protected forward(plan: ForwardPlan, layerDone: (layer: number) => void): void {
    const { context } = this
    const { sequences } = plan
    const readers = sequences.map((one) => context.writer(one.requestId, one.attempt))
    const watch = (reader: number, writer: number, fresh: boolean, page: number, position: number): void => {
      const guarded = this.memory.spoiled[page] === 0
      if (fresh && guarded && writer === reader) return
      context.check('read', (checker) => checker.read(reader, writer, fresh, page, guarded, position))
    }
    const run = new ForwardRun(this.#tampered(plan), this.memory, context.fences.kernel, readers, watch)
    const pages: number[] = []
    for (const { table } of sequences) for (let i = 0; i < table.pages.length; i++) pages.push(table.pages[i]!)
    context.check('touchBegins', (checker) => checker.touchBegins(this.life, pages))
    const began = context.world.now
    let at = began
    for (let layer = 0; layer < context.settings.layers; layer++) {
      at += 1 + context.delay('layer time', 2)
      context.world.at(at, () => {
        if (!this.#alive) return
        run.layer(layer)
        layerDone(layer)
      })
    }
    context.world.at(at, () => {
      if (!this.#alive) return
      context.check('touchEnds', (checker) => checker.touchEnds(this.life, pages))
      if (sequences.some((one) => !context.stages.has(one.requestId)))
        context.coverage.situation('pass ends after its request')
      this.step({
        kind: 'forward_done',
        now: this.now,
        result: this.#mixedUp(run.result()),
        seconds: (at - began) / 1000,
      } as unknown as Event)
    })
  }

  #giveUp(pages: Uint32Array): void {
    this.context.check('retire', (checker) => checker.retire(this.life, pages))
    this.memory.retire(pages)
  }

  /** A page table that was corrupted on its way to the forward thread: one entry names some other page. */
  #tampered(plan: ForwardPlan): ForwardPlan {
    const { oracle } = this.context
    if (this.context.strikes('skewedPlan')) return this.#skewed(plan)
    if (!this.context.strikes('corruptTable')) return plan
    const hit = oracle.choose('which sequence', plan.sequences.length)
    const sequences = plan.sequences.map((one, i) => {
      if (i !== hit) return one
      const pages = one.table.pages.slice()
      pages[oracle.choose('which entry', pages.length)] = oracle.choose('which page', this.life.pages)
      return { ...one, table: { ...one.table, pages } }
    })
    return { ...plan, sequences }
  }

  /** One sequence's new rows are said to begin a row earlier or, as far as its table goes, later than they do. */
  #skewed(plan: ForwardPlan): ForwardPlan {
    const { oracle } = this.context
    const hit = oracle.choose('which sequence', plan.sequences.length)
    const by = oracle.choose('which way', 2) === 0 ? 1 : -1
    const sequences = plan.sequences.map((one, i) => {
      const start = one.start + by
      const rows = one.table.pages.length * this.memory.shape.pageSize
      const inside = start >= 0 && start + one.tokens.length <= rows
      return i === hit && one.write === 'append' && inside ? { ...one, start } : one
    })
    return { ...plan, sequences }
  }

  /** Two rows of a batch that changed places. */
  #mixedUp(result: ForwardResult): ForwardResult {
    const { oracle } = this.context
    if (result.results.length < 2 || !this.context.strikes('swappedRows')) return result
    const results = [...result.results]
    const at = oracle.choose('which row', results.length - 1)
    ;[results[at], results[at + 1]] = [results[at + 1]!, results[at]!]
    return { ...result, results }
  }
}
