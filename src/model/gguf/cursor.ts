import { readSync } from 'node:fs'
import { ModelError } from '../errors.ts'

const WINDOW_BYTES = 4 * 1024 * 1024

/**
 * Reads a file from front to back through a window. Every read names what it reads and is checked against the bytes that
 * are really left before anything is allocated, so no claim in the file costs more memory than the file has bytes.
 */
export class Cursor {
  readonly #fd: number
  readonly #fileBytes: number
  #window: Buffer = Buffer.alloc(0)
  /** File offset of the window's first byte. */
  #base = 0
  /** Offset of the next byte within the window. */
  #at = 0

  constructor(fd: number, fileBytes: number) {
    this.#fd = fd
    this.#fileBytes = fileBytes
  }

  get position(): number {
    return this.#base + this.#at
  }

  get left(): number {
    return this.#fileBytes - this.position
  }

  u8(what: string): number {
    const at = this.#take(1, what)
    return this.#window.readUInt8(at)
  }

  i8(what: string): number {
    const at = this.#take(1, what)
    return this.#window.readInt8(at)
  }

  u16(what: string): number {
    const at = this.#take(2, what)
    return this.#window.readUInt16LE(at)
  }

  i16(what: string): number {
    const at = this.#take(2, what)
    return this.#window.readInt16LE(at)
  }

  u32(what: string): number {
    const at = this.#take(4, what)
    return this.#window.readUInt32LE(at)
  }

  i32(what: string): number {
    const at = this.#take(4, what)
    return this.#window.readInt32LE(at)
  }

  f32(what: string): number {
    const at = this.#take(4, what)
    return this.#window.readFloatLE(at)
  }

  f64(what: string): number {
    const at = this.#take(8, what)
    return this.#window.readDoubleLE(at)
  }

  u64(what: string): bigint {
    const at = this.#take(8, what)
    return this.#window.readBigUInt64LE(at)
  }

  i64(what: string): bigint {
    const at = this.#take(8, what)
    return this.#window.readBigInt64LE(at)
  }

  /** A 64-bit count or offset as a number; one above 2^53 cannot be true of any file. */
  size(what: string): number {
    const value = this.u64(what)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new ModelError({
        code: 'out_of_bounds',
        message: `${what} is ${value}, the file has ${this.#fileBytes} bytes`,
        details: { what, value: String(value), fileBytes: this.#fileBytes },
      })
    }
    return Number(value)
  }

  /** A length-prefixed UTF-8 string of at most `limit` bytes. */
  string(what: string, limit: number): string {
    const length = this.size(`the length of ${what}`)
    if (length > this.left) throw this.#short(`${what} of ${length} bytes`)
    if (length > limit) {
      throw new ModelError({
        code: 'malformed',
        message: `${what} is ${length} bytes long, at most ${limit} are read`,
        details: { what, length, limit },
      })
    }
    const at = this.#take(length, what)
    return this.#window.toString('utf8', at, at + length)
  }

  #take(count: number, what: string): number {
    if (count > this.left) throw this.#short(what)
    if (this.#at + count > this.#window.length) this.#refill(count, what)
    const at = this.#at
    this.#at += count
    return at
  }

  #refill(count: number, what: string): void {
    const base = this.position
    const wanted = Math.min(Math.max(count, WINDOW_BYTES), this.#fileBytes - base)
    const window = Buffer.allocUnsafe(wanted)
    let got = 0
    while (got < wanted) {
      const read = readSync(this.#fd, window, got, wanted - got, base + got)
      if (read === 0) throw this.#short(what)
      got += read
    }
    this.#window = window
    this.#base = base
    this.#at = 0
  }

  #short(what: string): ModelError {
    return new ModelError({
      code: 'truncated',
      message: `the file ends (at ${this.#fileBytes} bytes) before ${what}, which begins at byte ${this.position}`,
      details: { what, position: this.position, fileBytes: this.#fileBytes },
    })
  }
}
