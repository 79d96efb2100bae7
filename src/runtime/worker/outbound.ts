import type { SendAcknowledgeEffect, SendManifestEffect, SendPageEffect } from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'
import { Fifo } from './fifo.ts'
import type { PageSink } from './ports.ts'
import { NO_SEAL, type SendFault, sourceFault } from './send-fault.ts'

/**
 * Pages on their way out, in order. A page's rows are copied out of the pool and sealed when the channel has room, and not
 * before: under back-pressure they wait in the pool, where they are counted, and not in a buffer, where they are not.
 */
export class Outbound {
  readonly #kernels: PoolKernels
  readonly #sent: (id: number, fault?: SendFault) => void
  readonly #pageBytes: number
  /** Buffers the channel is done with: pages go out by the thousand, and their garbage would outgrow the pool. */
  readonly #spare: Uint8Array[] = []
  readonly #waiting = new Fifo<SendPageEffect | SendManifestEffect | SendAcknowledgeEffect>()
  #sink: PageSink | null = null
  #full = false

  constructor(kernels: PoolKernels, pageSize: number, sent: (id: number, fault?: SendFault) => void) {
    this.#kernels = kernels
    this.#pageBytes = kernels.rowBytes(pageSize)
    this.#sent = sent
  }

  up(sink: PageSink): void {
    this.#sink = sink
    this.#full = false
  }

  /** What waits is dropped: the machine learns of it by `link_down`, not page by page. */
  down(): void {
    this.#sink = null
    this.#waiting.clear()
  }

  push(effect: SendPageEffect | SendManifestEffect | SendAcknowledgeEffect): void {
    if (!this.#sink) return
    this.#waiting.push(effect)
    this.#pump()
  }

  drained(): void {
    this.#full = false
    this.#pump()
  }

  #pump(): void {
    while (this.#sink && !this.#full) {
      const effect = this.#waiting.shift()
      if (!effect) return
      if (effect.kind === 'send_manifest') this.#full = !this.#sink.sendManifest(effect.frame)
      else if (effect.kind === 'send_acknowledge') this.#sink.sendAcknowledge?.(effect.lease)
      else this.#sendPage(this.#sink, effect)
    }
  }

  #sendPage(sink: PageSink, effect: SendPageEffect): void {
    const { id, page, frame, lineageKey } = effect
    const fault = sourceFault(this.#kernels, effect)
    if (fault !== null) {
      this.#sent(id, fault)
      return
    }
    const buffer = this.#spare.pop() ?? new Uint8Array(this.#pageBytes)
    const rows = buffer.subarray(0, this.#kernels.rowBytes(frame.rows))
    this.#kernels.readRows(page, frame.layer, frame.rows, rows)
    const seal = lineageKey ? this.#kernels.seal(page, frame.layer, frame.rows, lineageKey) : NO_SEAL
    this.#full = !sink.sendPage({ ...frame, seal }, rows, () => this.#spare.push(buffer))
    this.#sent(id)
  }
}
