import {
  type DecodeToPrefill,
  type Lease,
  type ManifestFrame,
  type PageFrame,
  type PrefillEffect,
  type PrefillEvent,
  PrefillMachine,
  type PrefillToRouter,
  type RouterToPrefill,
} from '../../cluster/index.ts'
import type { SimContext } from './context.ts'
import type { DecodeNode } from './decode-node.ts'
import { corrupted } from './frame-faults.ts'
import { type RowBytes, type SimMemory, sameBytes } from './memory.ts'
import { WorkerNode } from './worker-node.ts'
import { workerOptions } from './worker-options.ts'

/** Where its words go. */
export interface PrefillWires {
  toRouter(message: PrefillToRouter): void
  /** Without bytes over `shared`. */
  page(frame: PageFrame, bytes: RowBytes | null): void
  manifest(frame: ManifestFrame): void
  acknowledge(lease: Lease): void
}

/** Transport `shared`: the decode whose pages it stores into, and its own memory as its life before left it, if there was one. */
export interface Neighbourhood {
  readonly decode: DecodeNode
  readonly left: SimMemory | null
}

const NO_SEAL = new Uint8Array(16)

type SendPage = Extract<PrefillEffect, { kind: 'send_page' }>

export class PrefillNode extends WorkerNode<PrefillEvent, PrefillEffect> {
  readonly #wires: PrefillWires
  /** Null over a socket. */
  readonly #decode: DecodeNode | null
  readonly #sending = new Map<number, readonly number[]>()
  /** Pages of decode that bytes are on their way into, by send. */
  readonly #storing = new Map<number, readonly number[]>()
  #channelLife = 0

  constructor(
    context: SimContext,
    epoch: number,
    pages: number,
    wires: PrefillWires,
    neighbourhood: Neighbourhood | null,
  ) {
    const { chunkRows } = context.settings
    const machine = new PrefillMachine({
      ...workerOptions(context, epoch, pages),
      chunkRows,
      layerBudgetSeconds: 0.002,
      ...(context.settings.prefixCache === null ? {} : { prefixCache: context.settings.prefixCache }),
    })
    super(context, { role: 'prefill', epoch, pages }, machine, neighbourhood?.left ?? undefined)
    this.#wires = wires
    this.#decode = neighbourhood?.decode ?? null
    if (neighbourhood?.left) this.memory.retire(Uint32Array.from({ length: pages }, (_, page) => page))
  }

  /** A store under way stops where it is. */
  override kill(): void {
    super.kill()
    const { context } = this
    if (this.#storing.size > 0) context.coverage.situation('writer ends in mid-store')
    for (const pages of this.#storing.values())
      context.check('touchEnds', (checker) => checker.touchEnds(this.#decode!.life, pages))
  }

  message(message: RouterToPrefill): void {
    this.claimed = false
    if (message.kind === 'abort')
      this.context.tell('givenUp', (checker) => checker.givenUp(this.life, message.requestId, message.attempt))
    this.step({ kind: 'message', now: this.now, message })
    if (message.kind === 'prefill' && this.claimed) {
      const { requestId, attempt, ids, ticket, lease } = message
      const genuine = !this.context.forgeries.has(ticket)
      this.context.check('accepted', (checker) => checker.accepted(this.life, requestId, attempt, ids, genuine))
      // What it has taken on it will store.
      for (const page of lease.target?.pages ?? []) this.#look(page, requestId, attempt)
    }
  }

  peer(message: DecodeToPrefill): void {
    this.step({ kind: 'peer', now: this.now, message })
  }

  /** Transport `shared`: the link is up, and leases from this one on may be stored under. */
  mayStore(from: Lease): void {
    this.step({ kind: 'link_up', now: this.now, from })
  }

  channel(up: boolean): void {
    if (up) {
      this.step({ kind: 'link_up', now: this.now })
      return
    }
    // From the moment the machine hears of it no send reads the pool any more.
    this.#channelLife++
    for (const pages of this.#sending.values())
      this.context.check('touchEnds', (checker) => checker.touchEnds(this.life, pages))
    this.#sending.clear()
    this.step({ kind: 'link_down', now: this.now })
  }

  protected override execute(effect: PrefillEffect): void {
    switch (effect.kind) {
      case 'send': {
        const { message } = effect
        if (message.kind === 'prefilled')
          this.context.tell('committed', (checker) => checker.committed(this.life, message.requestId, message.attempt))
        this.#wires.toRouter(message)
        break
      }
      case 'forward':
        this.forward(effect.plan, (layer) =>
          this.step({ kind: 'layer_done', now: this.now, planId: effect.plan.id, layer }),
        )
        break
      case 'send_page':
        if (effect.target === null) this.#sendPage(effect)
        else this.#store(effect, effect.target)
        break
      case 'send_manifest': {
        const life = this.#channelLife
        this.copy([], () => {
          if (life === this.#channelLife) this.#wires.manifest(effect.frame)
        })
        break
      }
      case 'send_acknowledge':
        this.copy([], () => this.#wires.acknowledge(effect.lease))
        break
      case 'publish_page':
        this.#publish(effect)
        break
      case 'verify_page':
        this.copy([effect.page], () => {
          if (this.context.strikes('rottenPage')) this.memory.rot(effect.page, this.context.oracle)
          const ok = this.#sealsOf(effect.page, effect.rows, effect.lineageKeys).every((seal, layer) =>
            sameBytes(seal, effect.seals[layer]!),
          )
          this.step({ kind: 'page_verified', now: this.now, id: effect.id, ok })
        })
        break
      default:
        this.common(effect)
    }
  }

  /** Gives up what is cached, so that every page can be seen to come home. */
  flush(): void {
    this.step({ kind: 'flush_prefixes', now: this.now })
  }

  /** The tag changes hands at once; the seals take their time. */
  #publish({ id, page, from, to, rows, lineageKeys }: Extract<PrefillEffect, { kind: 'publish_page' }>): void {
    const guarded = this.memory.spoiled[page] === 0 && this.memory.hasTag(page, from)
    this.context.check('publish', (checker) => checker.publish(this.life, page, from.owner, to.owner))
    this.memory.retag(page, to)
    this.copy([page], () => {
      this.step({
        kind: 'page_published',
        now: this.now,
        id,
        guarded,
        seals: this.#sealsOf(page, rows, lineageKeys ?? []),
      })
    })
  }

  #sealsOf(page: number, rows: number, keys: readonly Uint8Array[]): Uint8Array[] {
    return keys.map((key, layer) => this.memory.seal(page, layer, rows, key))
  }

  #sendPage(effect: SendPage): void {
    const { id, page } = effect
    const pages = [page]
    this.#sending.set(id, pages)
    this.context.check('touchBegins', (checker) => checker.touchBegins(this.life, pages))
    this.copy([], () => {
      if (!this.#sending.delete(id)) return
      const fault = this.#sourceFault(effect)
      const sent = fault === null ? this.#sealed(effect) : null
      this.context.check('touchEnds', (checker) => checker.touchEnds(this.life, pages))
      if (sent !== null) this.#wires.page(sent.frame, sent.bytes)
      this.step(
        fault === null ? { kind: 'page_sent', now: this.now, id } : { kind: 'page_sent', now: this.now, id, fault },
      )
    })
  }

  /**
   * One-sided: both tags are looked at as it begins, and from there on nothing but this thread's end keeps the bytes from
   * landing, whoever has the page by then. Torn, a part of them lands at once.
   */
  #store(effect: SendPage, target: NonNullable<SendPage['target']>): void {
    const { context } = this
    const { id, page, frame } = effect
    const { layer, rows, requestId, attempt } = frame
    const decode = this.#decode!
    const pages = [target.page]
    const { begins, ends } = this.nextCopy()
    const look = (): void => this.#look(target.page, requestId, attempt)
    const land = (count: number, bytes: RowBytes): void => {
      look()
      decode.memory.place(target.page, layer, count, bytes)
    }
    let stored: { readonly frame: PageFrame; readonly bytes: RowBytes } | null = null
    context.check('touchBegins', (checker) => checker.touchBegins(this.life, [page]))
    context.world.at(begins, () => {
      if (!this.alive) return
      look()
      const gone = target.tag !== null && !decode.memory.hasTag(target.page, target.tag)
      const fault = this.#sourceFault(effect) ?? (gone ? 'lease_gone' : null)
      if (fault !== null) {
        context.check('touchEnds', (checker) => checker.touchEnds(this.life, [page]))
        this.step({ kind: 'page_sent', now: this.now, id, fault })
        return
      }
      const sealed = this.#sealed(effect)
      stored = { frame: sealed.frame, bytes: corrupted(context, sealed.bytes) }
      this.#storing.set(id, pages)
      context.check('touchBegins', (checker) => checker.touchBegins(decode.life, pages))
      if (rows > 1 && context.strikes('tornStore')) land(rows >> 1, stored.bytes)
    })
    context.world.at(ends, () => {
      if (!this.alive || stored === null) return
      land(rows, stored.bytes)
      this.#storing.delete(id)
      context.coverage.situation('store landed')
      if (target.tag !== null && !decode.memory.hasTag(target.page, target.tag))
        context.coverage.situation('store landed after its lease was closed')
      context.check('touchEnds', (checker) => checker.touchEnds(decode.life, pages))
      context.check('touchEnds', (checker) => checker.touchEnds(this.life, [page]))
      this.#wires.page(stored.frame, null)
      this.step({ kind: 'page_sent', now: this.now, id })
    })
  }

  #look(page: number, requestId: string, attempt: number): void {
    const { life } = this.#decode!
    this.context.check('store', (checker) => checker.store(life, page, requestId, attempt))
  }

  #sourceFault({ page, tag, frame }: SendPage): 'page_tag' | 'unfilled_row' | null {
    if (tag === null) return null
    if (!this.memory.hasTag(page, tag)) return 'page_tag'
    return this.memory.filled(page, frame.layer) < frame.rows ? 'unfilled_row' : null
  }

  #sealed({ page, frame, lineageKey }: SendPage): { readonly frame: PageFrame; readonly bytes: RowBytes } {
    const { requestId, attempt, lease, layer, ordinal, rows } = frame
    const bytes = this.memory.read(page, layer, rows)
    const seal = lineageKey === null ? NO_SEAL : this.memory.seal(page, layer, rows, lineageKey)
    return { frame: { kind: 'page', requestId, attempt, lease, layer, ordinal, rows, seal }, bytes }
  }
}
