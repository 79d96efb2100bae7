import type { DigestTools } from '../../host/index.ts'
import { FIXED_BYTES, type FrameType, PREFIX_BYTES, type RawFrame, TAG_BYTES, WIRE_VERSION } from './frame.ts'

/** Both directions' keys of one connection, made by the handshake and never used again. */
export interface SessionKeys {
  readonly send: Uint8Array
  readonly receive: Uint8Array
}

/** The first bytes of a frame, up to and with its header; the payload is written after them as it is. */
export const frameHead = (
  type: FrameType,
  sequence: number,
  header: Uint8Array,
  payloadLength: number,
  tag: (covered: Uint8Array) => Uint8Array | null,
): Buffer => {
  const head = Buffer.alloc(PREFIX_BYTES + FIXED_BYTES + header.length)
  head.writeUInt32LE(FIXED_BYTES + header.length + payloadLength, 0)
  head[PREFIX_BYTES] = WIRE_VERSION
  head[PREFIX_BYTES + 1] = type
  head.writeUInt16LE(header.length, PREFIX_BYTES + 2)
  head.writeBigUInt64LE(BigInt(sequence), PREFIX_BYTES + 4)
  head.set(header, PREFIX_BYTES + FIXED_BYTES)
  const fixed = head.subarray(PREFIX_BYTES, PREFIX_BYTES + FIXED_BYTES - TAG_BYTES)
  const made = tag(covered(fixed, header, payloadLength))
  if (made) head.set(made.subarray(0, TAG_BYTES), PREFIX_BYTES + FIXED_BYTES - TAG_BYTES)
  return head
}

/** What a tag covers: the fixed part, the payload's length, the header. */
const covered = (fixed: Uint8Array, header: Uint8Array, payloadLength: number): Uint8Array => {
  const bytes = Buffer.allocUnsafe(fixed.length + 4 + header.length)
  bytes.set(fixed, 0)
  bytes.writeUInt32LE(payloadLength, fixed.length)
  bytes.set(header, fixed.length + 4)
  return bytes
}

/** Numbers and tags frames on their way out. */
export const createSealer = (
  key: Uint8Array,
  digests: DigestTools,
): ((type: FrameType, header: Uint8Array, payloadLength: number) => Buffer) => {
  let sequence = 0
  return (type, header, payloadLength) => {
    sequence += 1
    return frameHead(type, sequence, header, payloadLength, (bytes) => digests.mac(key, bytes))
  }
}

/** Says of each frame in turn whether it is the next one of this session, unchanged. */
export const createOpener = (
  key: Uint8Array,
  digests: DigestTools,
): ((frame: RawFrame) => 'ok' | 'out_of_order' | 'bad_tag') => {
  let sequence = 0
  return (frame) => {
    const tag = digests.mac(key, covered(frame.fixed, frame.header, frame.payload.length)).subarray(0, TAG_BYTES)
    if (!digests.equal(tag, frame.tag)) return 'bad_tag'
    if (frame.sequence !== sequence + 1) return 'out_of_order'
    sequence += 1
    return 'ok'
  }
}
