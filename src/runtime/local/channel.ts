import type { Lease, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { DecodeCore } from '../worker/decode-core.ts'
import type { LeaseSink, PageSink } from '../worker/ports.ts'
import type { PrefillCore } from '../worker/prefill-core.ts'

type Parcel =
  | { readonly kind: 'page'; readonly frame: PageFrame; readonly rows: Uint8Array; readonly written: () => void }
  | { readonly kind: 'manifest'; readonly frame: ManifestFrame }
  | { readonly kind: 'acknowledged'; readonly lease: Lease }

export interface LocalChannelOptions {
  readonly prefill: () => PrefillCore
  readonly decode: () => DecodeCore
  /** Awaited before each delivery. */
  readonly pace: (() => Promise<void>) | null
  /** Transport `shared`: frames come without rows, which stand in decode's page already. */
  readonly stored: boolean
  /** Transport `shared`: decode says from which lease on prefill may store, and with that prefill's end is open. */
  readonly openPrefill: (from: Lease) => void
}

/** The transfer channel within one process: frames in order, never from inside the sender's step. */
export const localChannel = (options: LocalChannelOptions): PageSink & LeaseSink => {
  const { prefill, decode, pace, stored, openPrefill } = options
  const parcels: Parcel[] = []
  let pumping = false
  const deliver = (parcel: Parcel): void => {
    switch (parcel.kind) {
      case 'manifest':
        decode().manifest(parcel.frame)
        return
      case 'acknowledged':
        decode().acknowledged(parcel.lease)
        return
      case 'page':
        decode().page(parcel.frame, stored ? undefined : parcel.rows)
        parcel.written()
        return
    }
  }
  const pump = async (): Promise<void> => {
    for (let next = parcels.shift(); next; next = parcels.shift()) {
      if (pace) await pace()
      deliver(next)
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
    sendAcknowledge: (lease) => void post({ kind: 'acknowledged', lease }),
    sendLeaseClosed: (message) => {
      queueMicrotask(() => prefill().leaseClosed(message))
      return true
    },
    openLeases: openPrefill,
  }
}
