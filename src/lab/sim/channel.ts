import type { DecodeToPrefill, Lease, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { SimContext } from './context.ts'
import type { RowBytes } from './memory.ts'
import type { DecodeNode, PrefillNode } from './nodes.ts'
import { Link } from './world.ts'

/** The socket between prefill and decode, in one of its lives, with everything that can happen to a frame on it. */
export class TransferChannel {
  readonly #context: SimContext
  readonly #prefill: PrefillNode
  readonly #decode: DecodeNode
  readonly #forth: Link
  readonly #back: Link
  /** Leases seen on the way, for frames that end up in the wrong room. */
  readonly #leases: Lease[] = []
  readonly #shifted = new Map<string, boolean>()
  #open = true

  constructor(context: SimContext, prefill: PrefillNode, decode: DecodeNode) {
    this.#context = context
    this.#prefill = prefill
    this.#decode = decode
    this.#forth = new Link(context.world)
    this.#back = new Link(context.world)
  }

  get open(): boolean {
    return this.#open
  }

  /** Frames under way are lost; each end hears of it in its own time. */
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
    const { oracle, faults } = this.#context
    if (!this.#leases.some((lease) => lease.id === frame.lease.id)) this.#leases.push(frame.lease)
    let sent = frame
    let payload = bytes
    if (oracle.chance('misrouted frame', faults.misroutedFrame))
      sent = { ...sent, lease: this.#leases[oracle.choose('whose room', this.#leases.length)]! }
    if (oracle.chance('misnamed frame', faults.misnamedFrame)) sent = { ...sent, attempt: sent.attempt + 1 }
    if (oracle.chance('corrupt frame', faults.corruptFrame)) payload = this.#corrupt(payload)
    if (frame.rows > 1 && oracle.chance('short frame', faults.shortFrame)) sent = { ...sent, rows: frame.rows - 1 }
    if (this.#shifts(frame)) sent = { ...sent, layer: (frame.layer + 1) % this.#context.settings.layers }
    if (oracle.chance('wild frame', faults.wildFrame)) sent = this.#wild(sent)
    const deliver = (): void => this.#decode.page(sent, payload)
    const late = oracle.chance('late frame', faults.lateFrame)
    this.#send(deliver, late ? 60 : 2, oracle.chance('overtaking frame', faults.overtakingFrame))
    if (oracle.chance('duplicate frame', faults.duplicateFrame)) this.#send(deliver, 60, true)
  }

  manifest(frame: ManifestFrame): void {
    this.#send(() => this.#decode.manifest(frame), 2, false)
  }

  toPrefill(message: DecodeToPrefill): void {
    if (this.#open) this.#back.send(this.#context.delay('back channel', 2), () => this.#prefill.peer(message))
  }

  #send(deliver: () => void, longest: number, overtaking: boolean): void {
    if (this.#open) this.#forth.send(this.#context.delay('frame', longest), deliver, overtaking)
  }

  /** Decided once per page, so that all its layers arrive, each in another's place. */
  #shifts({ lease, ordinal }: PageFrame): boolean {
    const key = `${lease.id}/${ordinal}`
    const known = this.#shifted.get(key)
    if (known !== undefined) return known
    const shifted = this.#context.oracle.chance('shifted layers', this.#context.faults.shiftedLayers)
    this.#shifted.set(key, shifted)
    return shifted
  }

  #wild(frame: PageFrame): PageFrame {
    const beyond = 1 + this.#context.oracle.choose('how far', 1000)
    switch (this.#context.oracle.choose('which bound', 3)) {
      case 0:
        return { ...frame, layer: this.#context.settings.layers - 1 + beyond }
      case 1:
        return { ...frame, ordinal: this.#context.settings.window + beyond }
      default:
        return { ...frame, rows: this.#context.settings.pageSize + beyond }
    }
  }

  #corrupt(bytes: RowBytes): RowBytes {
    const values = bytes.values.slice()
    const at = this.#context.oracle.choose('which row', values.length)
    values[at] = values[at]! ^ (1 << this.#context.oracle.choose('which bit', 32))
    return { ...bytes, values }
  }
}
