import { FIXED_BYTES, HEADER_LIMIT, PREFIX_BYTES, type RawFrame, TAG_BYTES, WIRE_VERSION } from './frame.ts'

export type FramingViolation = 'frame_too_short' | 'frame_too_long' | 'wrong_version' | 'header_too_long'

/**
 * Cuts frames out of a byte stream. A frame that lies whole in a chunk is handed out without a copy; otherwise each of its
 * bytes is copied once, into one buffer of the longest legal frame. A length is judged as soon as its four bytes are there,
 * so a hostile length costs nothing.
 */
export class FrameParser {
  readonly #pending: Buffer
  readonly #longest: number
  #have = 0
  #violation: FramingViolation | null = null

  /** `payloadLimit`: bytes of the longest page this link may carry. */
  constructor(payloadLimit: number) {
    this.#longest = FIXED_BYTES + HEADER_LIMIT + payloadLimit
    this.#pending = Buffer.allocUnsafe(PREFIX_BYTES + this.#longest)
  }

  /** True while part of a frame waits for the rest. */
  get partial(): boolean {
    return this.#have > 0
  }

  /** Calls `onFrame` for each whole frame until it returns false. Returns the violation that ended the stream, if any. */
  push(chunk: Buffer, onFrame: (frame: RawFrame) => boolean): FramingViolation | null {
    let at = 0
    while (this.#violation === null && at < chunk.length) {
      if (this.#have === 0) {
        const whole = this.#wholeLength(chunk, at)
        if (whole > 0) {
          if (!this.#emit(chunk.subarray(at, at + whole), onFrame)) return this.#violation
          at += whole
          continue
        }
        if (this.#violation !== null) break
      }
      at += this.#gather(chunk, at)
      const need = this.#wholeLength(this.#pending.subarray(0, this.#have), 0)
      if (need > 0 && this.#violation === null) {
        this.#have = 0
        if (!this.#emit(this.#pending.subarray(0, need), onFrame)) return this.#violation
      }
    }
    return this.#violation
  }

  /** Length of the frame at `at` with its prefix if all of it is there, else 0; judges the length either way. */
  #wholeLength(bytes: Buffer, at: number): number {
    if (bytes.length - at < PREFIX_BYTES) return 0
    const length = bytes.readUInt32LE(at)
    if (length < FIXED_BYTES) this.#violation = 'frame_too_short'
    else if (length > this.#longest) this.#violation = 'frame_too_long'
    if (this.#violation !== null) return 0
    return bytes.length - at >= PREFIX_BYTES + length ? PREFIX_BYTES + length : 0
  }

  /** Copies as much of the chunk as the frame under way still needs; returns how much. */
  #gather(chunk: Buffer, at: number): number {
    const goal = this.#have < PREFIX_BYTES ? PREFIX_BYTES : PREFIX_BYTES + this.#pending.readUInt32LE(0)
    const count = Math.min(goal - this.#have, chunk.length - at)
    chunk.copy(this.#pending, this.#have, at, at + count)
    this.#have += count
    return count
  }

  #emit(bytes: Buffer, onFrame: (frame: RawFrame) => boolean): boolean {
    const headerLength = bytes.readUInt16LE(PREFIX_BYTES + 2)
    const headerAt = PREFIX_BYTES + FIXED_BYTES
    if (bytes[PREFIX_BYTES] !== WIRE_VERSION) this.#violation = 'wrong_version'
    else if (headerLength > HEADER_LIMIT || headerAt + headerLength > bytes.length) this.#violation = 'header_too_long'
    if (this.#violation !== null) return false
    const sequence = bytes.readBigUInt64LE(PREFIX_BYTES + 4)
    return onFrame({
      type: bytes[PREFIX_BYTES + 1]!,
      sequence: sequence > BigInt(Number.MAX_SAFE_INTEGER) ? Number.NaN : Number(sequence),
      fixed: bytes.subarray(PREFIX_BYTES, headerAt - TAG_BYTES),
      tag: bytes.subarray(headerAt - TAG_BYTES, headerAt),
      header: bytes.subarray(headerAt, headerAt + headerLength),
      payload: bytes.subarray(headerAt + headerLength),
    })
  }
}
