import type { DecodeToPrefill, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import { HeaderReader, HeaderWriter } from './bytes.ts'

/**
 * One frame on the wire:
 *
 *     u32 length of what follows | u8 version | u8 type | u16 header length | u64 sequence number | 16 bytes tag | header | payload
 *
 * The tag is an HMAC over everything before it and the header, under a key of this session and direction, so a header that
 * was changed, moved, repeated or taken from another session does not verify. The payload (a page's rows) is covered by the
 * seal in the header.
 */
export const WIRE_VERSION = 1
export const PREFIX_BYTES = 4
export const FIXED_BYTES = 28
export const TAG_BYTES = 16
export const HEADER_LIMIT = 1024
const TEXT_LIMIT = 256

export const FRAME_TYPES = { hello: 1, proof: 2, page: 16, manifest: 17, leaseClosed: 18, joined: 19 } as const
export type FrameType = (typeof FRAME_TYPES)[keyof typeof FRAME_TYPES]

/** A frame cut out of the byte stream, not yet believed. Views are good only until the parser's callback returns. */
export interface RawFrame {
  readonly type: number
  readonly sequence: number
  readonly tag: Uint8Array
  /** Version, type, header length and sequence number, then the header: what the tag covers, in two pieces. */
  readonly fixed: Uint8Array
  readonly header: Uint8Array
  readonly payload: Uint8Array
}

export const pageHeader = (frame: PageFrame): Buffer =>
  new HeaderWriter(HEADER_LIMIT)
    .text(frame.requestId)
    .u32(frame.attempt)
    .u32(frame.lease.id)
    .u64(frame.lease.epoch)
    .u32(frame.layer)
    .u32(frame.ordinal)
    .u32(frame.rows)
    .bytes(frame.seal)
    .done()

export const readPageHeader = (header: Uint8Array): PageFrame | null => {
  const reader = new HeaderReader(header)
  const frame: PageFrame = {
    kind: 'page',
    requestId: reader.text(TEXT_LIMIT),
    attempt: reader.u32(),
    lease: { id: reader.u32(), epoch: reader.u64() },
    layer: reader.u32(),
    ordinal: reader.u32(),
    rows: reader.u32(),
    seal: reader.bytes(16),
  }
  return reader.ok ? frame : null
}

export const manifestHeader = (frame: ManifestFrame): Buffer =>
  new HeaderWriter(HEADER_LIMIT)
    .text(frame.requestId)
    .u32(frame.attempt)
    .u32(frame.lease.id)
    .u64(frame.lease.epoch)
    .u32(frame.pages)
    .u32(frame.rows)
    .u32(frame.layers)
    .text(frame.tokenDigest)
    .done()

export const readManifestHeader = (header: Uint8Array): ManifestFrame | null => {
  const reader = new HeaderReader(header)
  const frame: ManifestFrame = {
    kind: 'manifest',
    requestId: reader.text(TEXT_LIMIT),
    attempt: reader.u32(),
    lease: { id: reader.u32(), epoch: reader.u64() },
    pages: reader.u32(),
    rows: reader.u32(),
    layers: reader.u32(),
    tokenDigest: reader.text(TEXT_LIMIT),
  }
  return reader.ok ? frame : null
}

export const leaseClosedHeader = (message: DecodeToPrefill): Buffer =>
  new HeaderWriter(HEADER_LIMIT).u32(message.lease.id).u64(message.lease.epoch).done()

export const readLeaseClosedHeader = (header: Uint8Array): DecodeToPrefill | null => {
  const reader = new HeaderReader(header)
  const message: DecodeToPrefill = { kind: 'lease_closed', lease: { id: reader.u32(), epoch: reader.u64() } }
  return reader.ok ? message : null
}
