import type { Lease, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { SimContext } from './context.ts'
import type { RowBytes } from './memory.ts'

/** What may become of what a frame says, whatever carries it. */
export class FrameFaults {
  readonly #context: SimContext
  /** Leases seen on the way, on earlier channels too, for frames that end up in the wrong room. */
  readonly #leases: Lease[]
  readonly #shifted = new Map<string, boolean>()

  constructor(context: SimContext, leases: Lease[]) {
    this.#context = context
    this.#leases = leases
  }

  page(frame: PageFrame): PageFrame {
    const context = this.#context
    if (!this.#leases.some(({ id, epoch }) => id === frame.lease.id && epoch === frame.lease.epoch))
      this.#leases.push(frame.lease)
    let sent = frame
    if (context.strikes('misroutedFrame'))
      sent = { ...sent, lease: this.#leases[context.oracle.choose('whose room', this.#leases.length)]! }
    if (context.strikes('misnamedFrame')) sent = { ...sent, attempt: sent.attempt + 1 }
    if (frame.rows > 1 && context.strikes('shortFrame')) sent = { ...sent, rows: frame.rows - 1 }
    if (this.#shifts(frame)) sent = { ...sent, layer: (frame.layer + 1) % context.settings.layers }
    return context.strikes('wildFrame') ? this.#wild(sent) : sent
  }

  manifest(frame: ManifestFrame): ManifestFrame {
    if (!this.#context.strikes('wrongManifest')) return frame
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
}

/** Bytes on their way, with one bit changed where the fault strikes. */
export const corrupted = (context: SimContext, bytes: RowBytes): RowBytes => {
  if (!context.strikes('corruptFrame')) return bytes
  const values = bytes.values.slice()
  const at = context.oracle.choose('which row', values.length)
  values[at] = values[at]! ^ (1 << context.oracle.choose('which bit', 32))
  return { values, writers: bytes.writers }
}
