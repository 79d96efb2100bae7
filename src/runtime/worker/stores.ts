import type { SendAcknowledgeEffect, SendManifestEffect, SendPageEffect } from '../../cluster/index.ts'
import type { NeighbourPool, PoolKernels } from '../../kernels/index.ts'
import { Fifo } from './fifo.ts'
import type { PageSink } from './ports.ts'
import { NO_SEAL, type SendFault, sourceFault } from './send-fault.ts'

type StoreEffect = SendPageEffect | SendManifestEffect | SendAcknowledgeEffect

/** A long cached prompt must not keep an abort waiting. */
const TURN_BYTES = 4 * 2 ** 20
const NO_ROWS = new Uint8Array(0)
const nothing = (): void => undefined

/**
 * Pages on their way to a decode in the same memory, in order: rows are stored into decode's page, one-sided, and word of
 * it follows. What keeps a page from its next owner while this thread stores is decode's fence, which ends with this thread's
 * word or its life (R6); the look at the page's tag only saves work, and tells of a fence that failed.
 */
export class Stores {
  readonly #kernels: PoolKernels
  readonly #neighbour: NeighbourPool
  readonly #sent: (id: number, fault?: SendFault) => void
  readonly #turnBytes: number
  readonly #waiting = new Fifo<StoreEffect>()
  #sink: PageSink | null = null
  /** Bytes of this turn. */
  #moved = 0

  constructor(
    kernels: PoolKernels,
    neighbour: NeighbourPool,
    sent: (id: number, fault?: SendFault) => void,
    turnBytes = TURN_BYTES,
  ) {
    this.#kernels = kernels
    this.#neighbour = neighbour
    this.#sent = sent
    this.#turnBytes = turnBytes
  }

  up(sink: PageSink): void {
    this.#sink = sink
  }

  down(): void {
    this.#sink = null
    this.#waiting.clear()
  }

  push(effect: StoreEffect): void {
    if (!this.#sink) return
    this.#waiting.push(effect)
    this.#pump()
  }

  /** This link is never full. */
  drained(): void {}

  #pump(): void {
    while (this.#sink && this.#moved < this.#turnBytes) {
      const effect = this.#waiting.shift()
      if (!effect) return
      if (effect.kind === 'send_manifest') this.#sink.sendManifest(effect.frame)
      else if (effect.kind === 'send_acknowledge') this.#sink.sendAcknowledge?.(effect.lease)
      else this.#store(this.#sink, effect)
    }
  }

  #store(sink: PageSink, effect: SendPageEffect): void {
    const { id, page, frame, lineageKey, target } = effect
    const fault = sourceFault(this.#kernels, effect) ?? this.#targetFault(target)
    if (fault !== null || target === null) {
      this.#sent(id, fault ?? 'lease_gone')
      return
    }
    this.#count(this.#kernels.rowBytes(frame.rows))
    this.#neighbour.storeRows(page, frame.layer, frame.rows, target.page)
    // Of what was read, not of what was stored: a store that went wrong must not verify.
    const seal = lineageKey ? this.#kernels.seal(page, frame.layer, frame.rows, lineageKey) : NO_SEAL
    sink.sendPage({ ...frame, seal }, NO_ROWS, nothing)
    this.#sent(id)
  }

  #targetFault(target: SendPageEffect['target']): SendFault | null {
    if (target === null || target.tag === null) return null
    const { owner, generation } = this.#neighbour.tag(target.page)
    return owner === target.tag.owner && generation === target.tag.generation ? null : 'lease_gone'
  }

  #count(bytes: number): void {
    if (this.#moved === 0)
      setImmediate(() => {
        this.#moved = 0
        this.#pump()
      })
    this.#moved += bytes
  }
}
