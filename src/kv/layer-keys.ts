import { chachaBlock } from './chacha20.ts'

/**
 * A page's key stretched to one of 32 bytes for each layer: layers 2 i and 2 i + 1 have the halves of block i of ChaCha20's
 * keystream (RFC 8439, nonce zero) under the page's key. A pseudo-random function that costs a fifth of a SHA-256 call, and
 * there are as many keys as page frames.
 */
export class LayerKeys {
  readonly #pageKey = new Int32Array(8)
  readonly #keys: Uint8Array[] = []

  constructor(pageKey: Uint8Array) {
    for (let i = 0; i < 32; i++) this.#pageKey[i >> 2]! |= pageKey[i]! << ((i & 3) * 8)
  }

  /** The same array each time; not to be written to. */
  of(layer: number): Uint8Array {
    const known = this.#keys[layer]
    if (known !== undefined) return known
    chachaBlock(this.#pageKey, layer >> 1, NO_NONCE, block)
    const even = layer & ~1
    this.#keys[even] = littleEndian(block, 0)
    this.#keys[even + 1] = littleEndian(block, 8)
    return this.#keys[layer]!
  }
}

const NO_NONCE = [0, 0, 0] as const
const block = new Int32Array(16)

/** Eight words from `first` on. Not by way of `buffer`: asking for that moves a small array's bytes off the heap. */
const littleEndian = (words: Int32Array, first: number): Uint8Array => {
  const bytes = new Uint8Array(32)
  for (let i = 0; i < 8; i++) {
    const word = words[first + i]!
    bytes[4 * i] = word
    bytes[4 * i + 1] = word >>> 8
    bytes[4 * i + 2] = word >>> 16
    bytes[4 * i + 3] = word >>> 24
  }
  return bytes
}
