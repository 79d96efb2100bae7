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
  /** Leases seen on the way, on earlier channels too, for frames that end up in the wrong room. */
  readonly #leases: Lease[]
  readonly #shifted = new Map<string, boolean>()
  #open = true

  constructor(context: SimContext, prefill: PrefillNode, decode: DecodeNode, leases: Lease[]) {
    this.#context = context
    this.#leases = leases
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
    const context = this.#context
    if (!this.#leases.some(({ id, epoch }) => id === frame.lease.id && epoch === frame.lease.epoch))
      this.#leases.push(frame.lease)
    let sent = frame
    let payload = bytes
    if (context.strikes('misroutedFrame'))
      sent = { ...sent, lease: this.#leases[context.oracle.choose('whose room', this.#leases.length)]! }
    if (context.strikes('misnamedFrame')) sent = { ...sent, attempt: sent.attempt + 1 }
    if (context.strikes('corruptFrame')) payload = this.#corrupt(payload)
    if (frame.rows > 1 && context.strikes('shortFrame')) sent = { ...sent, rows: frame.rows - 1 }
    if (this.#shifts(frame)) sent = { ...sent, layer: (frame.layer + 1) % context.settings.layers }
    if (context.strikes('wildFrame')) sent = this.#wild(sent)
    if (context.strikes('lostFrame')) return
    const deliver = (): void => this.#decode.page(sent, payload)
    const late = context.strikes('lateFrame')
    this.#send(deliver, late ? 60 : 2, context.strikes('overtakingFrame'))
    if (context.strikes('duplicateFrame')) this.#send(deliver, 60, true)
  }

  manifest(frame: ManifestFrame): void {
    const sent = this.#context.strikes('wrongManifest') ? this.#wrong(frame) : frame
    this.#send(() => this.#decode.manifest(sent), 2, false)
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
    const shifted = this.#context.strikes('shiftedLayers')
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

  #wrong(frame: ManifestFrame): ManifestFrame {
    switch (this.#context.oracle.choose('what is wrong', 4)) {
      case 0:
        return { ...frame, pages: frame.pages + 1 }
      case 1:
        return { ...frame, rows: frame.rows - 1 }
      case 2:
        return { ...frame, layers: frame.layers + 1 }
      default:
        return { ...frame, tokenDigest: '' }
    }
  }

  #corrupt(bytes: RowBytes): RowBytes {
    const values = bytes.values.slice()
    const at = this.#context.oracle.choose('which row', values.length)
    values[at] = values[at]! ^ (1 << this.#context.oracle.choose('which bit', 32))
    return { ...bytes, values }
  }
}
