/**
 * A page's key stretched to one of 32 bytes for each layer: layers 2 i and 2 i + 1 have the halves of block i of ChaCha20's
 * keystream (RFC 8439, nonce zero) under the page's key. A pseudo-random function that costs a quarter of a SHA-256 call, and
 * there are as many keys as page frames.
 */
export class LayerKeys {
  readonly #key: Int32Array
  readonly #blocks: Uint8Array[] = []

  constructor(pageKey: Uint8Array) {
    this.#key = new Int32Array(pageKey.slice().buffer)
  }

  of(layer: number): Uint8Array {
    const at = layer >> 1
    this.#blocks[at] ??= new Uint8Array(chachaBlock(this.#key, at).buffer)
    return this.#blocks[at].subarray((layer & 1) * 32, (layer & 1) * 32 + 32)
  }
}

// "expand 32-byte k"
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const
const start = new Int32Array(16)
start.set(CONSTANTS)

/** Words in the machine's order, which is the little-endian one wherever WebAssembly's memory is a typed array's. */
export const chachaBlock = (key: Int32Array, counter: number, nonce: readonly number[] = NO_NONCE): Int32Array => {
  start.set(key, 4)
  start[12] = counter
  for (let i = 0; i < 3; i++) start[13 + i] = nonce[i]!
  const x = new Int32Array(start)
  for (let round = 0; round < 10; round++) {
    quarter(x, 0, 4, 8, 12)
    quarter(x, 1, 5, 9, 13)
    quarter(x, 2, 6, 10, 14)
    quarter(x, 3, 7, 11, 15)
    quarter(x, 0, 5, 10, 15)
    quarter(x, 1, 6, 11, 12)
    quarter(x, 2, 7, 8, 13)
    quarter(x, 3, 4, 9, 14)
  }
  for (let i = 0; i < 16; i++) x[i] = x[i]! + start[i]!
  return x
}

const NO_NONCE = [0, 0, 0] as const

const quarter = (x: Int32Array, a: number, b: number, c: number, d: number): void => {
  let va = x[a]!
  let vb = x[b]!
  let vc = x[c]!
  let vd = x[d]!
  va = (va + vb) | 0
  vd ^= va
  vd = (vd << 16) | (vd >>> 16)
  vc = (vc + vd) | 0
  vb ^= vc
  vb = (vb << 12) | (vb >>> 20)
  va = (va + vb) | 0
  vd ^= va
  vd = (vd << 8) | (vd >>> 24)
  vc = (vc + vd) | 0
  vb ^= vc
  vb = (vb << 7) | (vb >>> 25)
  x[a] = va
  x[b] = vb
  x[c] = vc
  x[d] = vd
}
