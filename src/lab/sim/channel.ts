import type { DecodeToPrefill, Lease, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { SimContext } from './context.ts'
import type { DecodeNode } from './decode-node.ts'
import { corrupted, type FrameFaults } from './frame-faults.ts'
import type { RowBytes } from './memory.ts'
import type { PrefillNode } from './prefill-node.ts'
import { Link } from './world.ts'

/** The way from prefill to decode and back, in one of its lives. */
export interface Channel {
  readonly open: boolean
  /** It ends, or its writer has; frames under way are lost, and who is left hears of it in its own time. */
  cut(): void
  /** Without bytes over `shared`: they stand in the page. */
  page(frame: PageFrame, bytes: RowBytes | null): void
  manifest(frame: ManifestFrame): void
  toPrefill(message: DecodeToPrefill): void
  /** `shared` alone. */
  acknowledge?(lease: Lease): void
  openLeases?(from: Lease): void
}

/** Sends a page frame with everything that can happen to it on the way. */
export const sendFrame = (context: SimContext, link: Link, deliver: () => void): void => {
  if (context.strikes('lostFrame')) return
  const late = context.strikes('lateFrame')
  link.send(context.delay('frame', late ? 60 : 2), deliver, context.strikes('overtakingFrame'))
  if (context.strikes('duplicateFrame')) link.send(context.delay('frame', 60), deliver, true)
}

/** As `sendFrame`, of words that are never lost but with the channel: they may be late, or come again. */
export const sendWord = (context: SimContext, link: Link, deliver: () => void): void => {
  link.send(context.delay('word', context.strikes('lateFrame') ? 60 : 2), deliver)
  if (context.strikes('duplicateFrame')) link.send(context.delay('word', 60), deliver, true)
}

/** A socket between two processes. */
export class SocketChannel implements Channel {
  readonly #context: SimContext
  readonly #prefill: PrefillNode
  readonly #decode: DecodeNode
  readonly #faults: FrameFaults
  readonly #forth: Link
  readonly #back: Link
  #open = true

  constructor(context: SimContext, prefill: PrefillNode, decode: DecodeNode, faults: FrameFaults) {
    this.#context = context
    this.#faults = faults
    this.#prefill = prefill
    this.#decode = decode
    this.#forth = new Link(context.world)
    this.#back = new Link(context.world)
  }

  get open(): boolean {
    return this.#open
  }

  cut(): void {
    if (!this.#open) return
    this.#open = false
    this.#forth.cut()
    this.#back.cut()
    const { world } = this.#context
    world.after(this.#context.delay('prefill hears of the cut', 5), () => this.#prefill.channel(false))
    world.after(this.#context.delay('decode hears of the cut', 5), () => this.#decode.channel(false))
  }

  page(frame: PageFrame, bytes: RowBytes): void {
    const context = this.#context
    const sent = this.#faults.page(frame)
    const payload = corrupted(context, bytes)
    if (this.#open) sendFrame(context, this.#forth, () => this.#decode.page(sent, payload))
  }

  manifest(frame: ManifestFrame): void {
    const sent = this.#faults.manifest(frame)
    if (this.#open) this.#forth.send(this.#context.delay('frame', 2), () => this.#decode.manifest(sent))
  }

  toPrefill(message: DecodeToPrefill): void {
    if (this.#open) sendWord(this.#context, this.#back, () => this.#prefill.peer(message))
  }
}
