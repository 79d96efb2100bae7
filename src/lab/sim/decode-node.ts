import {
  type DecodeEffect,
  type DecodeEvent,
  DecodeMachine,
  type DecodeToPrefill,
  type DecodeToRouter,
  type Lease,
  type ManifestFrame,
  type PageFrame,
  type RouterToDecode,
} from '../../cluster/index.ts'
import type { SimContext } from './context.ts'
import { type RowBytes, sameBytes } from './memory.ts'
import { WorkerNode } from './worker-node.ts'
import { workerOptions } from './worker-options.ts'

/** Where its words go. */
export interface DecodeWires {
  toRouter(message: DecodeToRouter): void
  toPrefill(message: DecodeToPrefill): void
  openLeases(from: Lease): void
  closeChannel(): void
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

  /** `bytes`: null where they stand in the page. */
  page(frame: PageFrame, bytes: RowBytes | null): void {
    this.#bytes = bytes
    this.step({ kind: 'page_frame', now: this.now, frame })
    this.#bytes = null
  }

  manifest(frame: ManifestFrame): void {
    this.step({ kind: 'manifest', now: this.now, frame })
  }

  acknowledged(lease: Lease): void {
    this.step({ kind: 'acknowledged', now: this.now, lease })
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
        this.#wires.toPrefill({ ...effect, kind: 'lease_closed' })
        break
      case 'open_leases':
        this.#wires.openLeases(effect.from)
        break
      case 'close_link':
        this.#wires.closeChannel()
        break
      default:
        this.common(effect)
    }
  }

  #place(
    { id, page, layer, rows, seal, lineageKey, stored }: Extract<DecodeEffect, { kind: 'place' }>,
    bytes: RowBytes | null,
  ): void {
    if (bytes === null && !stored) throw new Error('a page is placed without its bytes')
    this.copy([page], () => {
      if (bytes !== null) this.memory.place(page, layer, rows, bytes)
      const ok = lineageKey === null || sameBytes(this.memory.seal(page, layer, rows, lineageKey), seal)
      if (ok) this.memory.markFilled(page, layer, rows)
      this.step({ kind: 'placed', now: this.now, id, outcome: ok ? 'ok' : 'bad_seal' })
    })
  }
}
