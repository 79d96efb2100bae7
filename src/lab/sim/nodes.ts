import {
  type DecodeEffect,
  type DecodeEvent,
  DecodeMachine,
  type DecodeToPrefill,
  type DecodeToRouter,
  type ManifestFrame,
  type PageFrame,
  type PrefillEffect,
  type PrefillEvent,
  PrefillMachine,
  type PrefillToRouter,
  type RouterToDecode,
  type RouterToPrefill,
  type WorkerOptions,
} from '../../cluster/index.ts'
import type { SimContext } from './context.ts'
import { simCrypto } from './crypto.ts'
import { type RowBytes, sameBytes } from './memory.ts'
import { WorkerNode } from './worker-node.ts'

/** Where a worker's words go. */
export interface PrefillWires {
  toRouter(message: PrefillToRouter): void
  page(frame: PageFrame, bytes: RowBytes): void
  manifest(frame: ManifestFrame): void
}

export interface DecodeWires {
  toRouter(message: DecodeToRouter): void
  toPrefill(message: DecodeToPrefill): void
  closeChannel(): void
}

const workerOptions = ({ settings, fences, coverage }: SimContext, epoch: number, pages: number): WorkerOptions => ({
  model: 'sim',
  weights: 'w',
  epoch,
  shape: { pages, pageSize: settings.pageSize, layers: settings.layers, kvHeads: 1, headDim: 1 },
  fences,
  crypto: simCrypto,
  scrub: 'tags',
  sweepEvery: settings.sweepEvery,
  watch: coverage.watch,
})

const NO_SEAL = new Uint8Array(16)

export class PrefillNode extends WorkerNode<PrefillEvent, PrefillEffect> {
  readonly #wires: PrefillWires
  readonly #sending = new Map<number, readonly number[]>()
  #channelLife = 0

  constructor(context: SimContext, epoch: number, pages: number, wires: PrefillWires) {
    const { chunkRows } = context.settings
    const machine = new PrefillMachine({
      ...workerOptions(context, epoch, pages),
      chunkRows,
      layerBudgetSeconds: 0.002,
      ...(context.settings.prefixCache === null ? {} : { prefixCache: context.settings.prefixCache }),
    })
    super(context, { role: 'prefill', epoch, pages }, machine)
    this.#wires = wires
  }

  message(message: RouterToPrefill): void {
    this.claimed = false
    if (message.kind === 'abort')
      this.context.tell('givenUp', (checker) => checker.givenUp(this.life, message.requestId, message.attempt))
    this.step({ kind: 'message', now: this.now, message })
    if (message.kind === 'prefill' && this.claimed) {
      const { requestId, attempt, ids, ticket } = message
      const genuine = !this.context.forgeries.has(ticket)
      this.context.check('accepted', (checker) => checker.accepted(this.life, requestId, attempt, ids, genuine))
    }
  }

  peer(message: DecodeToPrefill): void {
    this.step({ kind: 'peer', now: this.now, message })
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
        this.#sendPage(effect)
        break
      case 'send_manifest': {
        const life = this.#channelLife
        this.copy([], () => {
          if (life === this.#channelLife) this.#wires.manifest(effect.frame)
        })
        break
      }
      case 'send_acknowledge':
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

  #sendPage({ id, page, tag, frame, lineageKey }: Extract<PrefillEffect, { kind: 'send_page' }>): void {
    const pages = [page]
    this.#sending.set(id, pages)
    this.context.check('touchBegins', (checker) => checker.touchBegins(this.life, pages))
    this.copy([], () => {
      if (!this.#sending.delete(id)) return
      const foreign = tag !== null && !this.memory.hasTag(page, tag)
      if (foreign || (tag !== null && this.memory.filled(page, frame.layer) < frame.rows)) {
        this.context.check('touchEnds', (checker) => checker.touchEnds(this.life, pages))
        this.step({ kind: 'page_sent', now: this.now, id, fault: foreign ? 'page_tag' : 'unfilled_row' })
        return
      }
      const bytes = this.memory.read(page, frame.layer, frame.rows)
      const seal = lineageKey === null ? NO_SEAL : this.memory.seal(page, frame.layer, frame.rows, lineageKey)
      this.context.check('touchEnds', (checker) => checker.touchEnds(this.life, pages))
      const { requestId, attempt, lease, layer, ordinal, rows } = frame
      this.#wires.page({ kind: 'page', requestId, attempt, lease, layer, ordinal, rows, seal }, bytes)
      this.step({ kind: 'page_sent', now: this.now, id })
    })
  }
}

export class DecodeNode extends WorkerNode<DecodeEvent, DecodeEffect> {
  readonly #wires: DecodeWires
  #bytes: RowBytes | null = null

  constructor(context: SimContext, epoch: number, pages: number, wires: DecodeWires) {
    const { maxBatch } = context.settings
    const machine = new DecodeMachine({ ...workerOptions(context, epoch, pages), maxBatch })
    super(context, { role: 'decode', epoch, pages }, machine)
    this.#wires = wires
  }

  message(message: RouterToDecode): void {
    this.claimed = false
    this.step({ kind: 'message', now: this.now, message })
    if (message.kind === 'reserve' && this.claimed) {
      const { requestId, attempt, ids, ticket } = message
      const genuine = !this.context.forgeries.has(ticket)
      this.context.check('accepted', (checker) => checker.accepted(this.life, requestId, attempt, ids, genuine))
    }
  }

  page(frame: PageFrame, bytes: RowBytes): void {
    this.#bytes = bytes
    this.step({ kind: 'page_frame', now: this.now, frame })
    this.#bytes = null
  }

  manifest(frame: ManifestFrame): void {
    this.step({ kind: 'manifest', now: this.now, frame })
  }

  channel(up: boolean): void {
    this.step({ kind: up ? 'link_up' : 'link_down', now: this.now })
  }

  protected override execute(effect: DecodeEffect): void {
    switch (effect.kind) {
      case 'send':
        this.#wires.toRouter(effect.message)
        break
      case 'forward':
        this.forward(effect.plan, () => {})
        break
      case 'place':
        this.#place(effect, this.#bytes)
        break
      case 'discard':
        break
      case 'copy_rows': {
        const pages = effect.copies.flatMap(({ from, to }) => [from, to])
        this.copy(pages, () => {
          for (const { from, to, rows } of effect.copies) this.memory.copy(from, to, rows)
          this.step({ kind: 'copied', now: this.now, id: effect.id })
        })
        break
      }
      case 'close_lease':
        this.#wires.toPrefill({ kind: 'lease_closed', lease: effect.lease })
        break
      case 'open_leases':
        break
      case 'close_link':
        this.#wires.closeChannel()
        break
      default:
        this.common(effect)
    }
  }

  #place(
    { id, page, layer, rows, seal, lineageKey }: Extract<DecodeEffect, { kind: 'place' }>,
    bytes: RowBytes | null,
  ): void {
    if (bytes === null) throw new Error('a place effect without a frame')
    this.copy([page], () => {
      this.memory.place(page, layer, rows, bytes)
      const ok = lineageKey === null || sameBytes(this.memory.seal(page, layer, rows, lineageKey), seal)
      if (ok) this.memory.markFilled(page, layer, rows)
      this.step({ kind: 'placed', now: this.now, id, outcome: ok ? 'ok' : 'bad_seal' })
    })
  }
}
