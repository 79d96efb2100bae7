import type { ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { DecodeCore } from '../worker/decode-core.ts'
import type { LeaseSink, PageSink } from '../worker/ports.ts'
import type { PrefillCore } from '../worker/prefill-core.ts'

type Parcel =
  | { readonly kind: 'page'; readonly frame: PageFrame; readonly rows: Uint8Array; readonly written: () => void }
  | { readonly kind: 'manifest'; readonly frame: ManifestFrame }

/**
 * The transfer channel within one process: frames in order, never from inside the sender's step. `pace` is awaited before
 * each delivery.
 */
export const localChannel = (
  prefill: () => PrefillCore,
  decode: () => DecodeCore,
  pace: (() => Promise<void>) | null,
): PageSink & LeaseSink => {
  const parcels: Parcel[] = []
  let pumping = false
  const pump = async (): Promise<void> => {
    for (let next = parcels.shift(); next; next = parcels.shift()) {
      if (pace) await pace()
      if (next.kind === 'manifest') decode().manifest(next.frame)
      else {
        decode().page(next.frame, next.rows)
        next.written()
      }
    }
    pumping = false
  }
  const post = (parcel: Parcel): boolean => {
    parcels.push(parcel)
    if (!pumping) {
      pumping = true
      queueMicrotask(() => void pump())
    }
    return true
  }
  return {
    sendPage: (frame, rows, written) => post({ kind: 'page', frame, rows, written }),
    sendManifest: (frame) => post({ kind: 'manifest', frame }),
    sendLeaseClosed: (message) => {
      queueMicrotask(() => prefill().leaseClosed(message))
      return true
    },
  }
}
