/** Little-endian fields of a frame's header. Strings are UTF-8 behind a 16-bit length; integers over 32 bits are 64 wide. */
export class HeaderWriter {
  readonly #buffer: Buffer
  #at = 0

  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafe(capacity)
  }

  u32(value: number): this {
    this.#at = this.#buffer.writeUInt32LE(value, this.#at)
    return this
  }

  u64(value: number): this {
    this.#at = this.#buffer.writeBigUInt64LE(BigInt(value), this.#at)
    return this
  }

  text(value: string): this {
    const length = this.#buffer.write(value, this.#at + 2, 'utf8')
    // A string cut at the end of the buffer would name someone else; nothing that long is ever sent.
    if (length !== Buffer.byteLength(value)) throw new RangeError('header field too long')
    this.#buffer.writeUInt16LE(length, this.#at)
    this.#at += 2 + length
    return this
  }

  bytes(value: Uint8Array): this {
    this.#buffer.set(value, this.#at)
    this.#at += value.length
    return this
  }

  done(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }
}

/** Reads what HeaderWriter wrote; any read past the end, bad UTF-8 or unsafe integer makes `ok` false, and zeros come back. */
export class HeaderReader {
  readonly #buffer: Buffer
  #at = 0
  #ok = true

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** True when every read was in bounds and nothing is left over. */
  get ok(): boolean {
    return this.#ok && this.#at === this.#buffer.length
  }

  #take(count: number): number {
    const at = this.#at
    if (!this.#ok || at + count > this.#buffer.length) {
      this.#ok = false
      return -1
    }
    this.#at = at + count
    return at
  }

  u32(): number {
    const at = this.#take(4)
    return at < 0 ? 0 : this.#buffer.readUInt32LE(at)
  }

  u64(): number {
    const at = this.#take(8)
    if (at < 0) return 0
    const value = Number(this.#buffer.readBigUInt64LE(at))
    if (!Number.isSafeInteger(value)) this.#ok = false
    return Number.isSafeInteger(value) ? value : 0
  }

  text(limit: number): string {
    const at = this.#take(2)
    const length = at < 0 ? 0 : this.#buffer.readUInt16LE(at)
    if (length > limit) this.#ok = false
    const from = this.#take(length)
    if (from < 0) return ''
    const bytes = this.#buffer.subarray(from, from + length)
    const text = bytes.toString('utf8')
    if (Buffer.byteLength(text) !== length || text.includes('\ufffd')) this.#ok = false
    return text
  }

  bytes(count: number): Uint8Array {
    const at = this.#take(count)
    return at < 0 ? new Uint8Array(count) : Uint8Array.from(this.#buffer.subarray(at, at + count))
  }
}
