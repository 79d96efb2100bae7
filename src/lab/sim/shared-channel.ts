import type { DecodeToPrefill, Lease, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import { type Channel, sendFrame, sendWord } from './channel.ts'
import type { SimContext } from './context.ts'
import type { DecodeNode } from './decode-node.ts'
import type { FrameFaults } from './frame-faults.ts'
import type { PrefillNode } from './prefill-node.ts'
import { Link } from './world.ts'

/**
 * What prefill and decode say to each other within one process, in one life of prefill; bytes do not pass through here. It is
 * up at decode when prefill has said that it is there, and at prefill when decode has said from which lease on it may
 * store. It ends with the writer and with nothing else.
 */
export class SharedChannel implements Channel {
  readonly #context: SimContext
  readonly #prefill: PrefillNode
  readonly #decode: DecodeNode
  readonly #faults: FrameFaults
  readonly #forth: Link
  readonly #back: Link
  readonly #joined: { readonly prefill: () => void; readonly decode: () => void }
  #open = true
  #up = false

  constructor(
    context: SimContext,
    prefill: PrefillNode,
    decode: DecodeNode,
    faults: FrameFaults,
    joined: { readonly prefill: () => void; readonly decode: () => void },
  ) {
    this.#context = context
    this.#faults = faults
    this.#prefill = prefill
    this.#decode = decode
    this.#joined = joined
    this.#forth = new Link(context.world)
    this.#back = new Link(context.world)
    this.#forth.send(context.delay('here', 2), () => {
      // Its thread may have died before it read this; what is dead does not greet.
      if (!decode.alive) return
      this.#up = true
      decode.channel(true)
      joined.decode()
    })
  }

  get open(): boolean {
    return this.#open
  }

  /** The writer's thread has ended. What it had said before may still be heard until decode knows. */
  cut(): void {
    if (!this.#open) return
    this.#open = false
    this.#back.cut()
    this.#context.world.after(this.#context.delay('decode hears of the end', 5), () => {
      this.#forth.cut()
      if (this.#up) this.#decode.channel(false)
    })
  }

  page(frame: PageFrame): void {
    const sent = this.#faults.page(frame)
    sendFrame(this.#context, this.#forth, () => this.#decode.page(sent, null))
  }

  manifest(frame: ManifestFrame): void {
    const sent = this.#faults.manifest(frame)
    this.#forth.send(this.#context.delay('frame', 2), () => this.#decode.manifest(sent))
  }

  acknowledge(lease: Lease): void {
    sendWord(this.#context, this.#forth, () => this.#decode.acknowledged(lease))
  }

  toPrefill(message: DecodeToPrefill): void {
    if (this.#open) sendWord(this.#context, this.#back, () => this.#prefill.peer(message))
  }

  openLeases(from: Lease): void {
    if (!this.#open) return
    this.#back.send(this.#context.delay('back channel', 2), () => {
      this.#prefill.mayStore(from)
      this.#joined.prefill()
    })
  }
}
