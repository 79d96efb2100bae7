/**
 * A page's key stretched to one of 32 bytes for each layer: layers 2 i and 2 i + 1 have the halves of block i of ChaCha20's
 * keystream (RFC 8439, nonce zero) under the page's key. A pseudo-random function that costs a quarter of a SHA-256 call, and
 * there are as many keys as page frames.
 */
export class LayerKeys {
  readonly #key: Uint32Array
  readonly #blocks: Uint8Array[] = []

  constructor(pageKey: Uint8Array) {
    this.#key = words(pageKey)
  }

  of(layer: number): Uint8Array {
    const at = layer >> 1
    this.#blocks[at] ??= bytes(chachaBlock(this.#key, at))
    return this.#blocks[at].subarray((layer & 1) * 32, (layer & 1) * 32 + 32)
  }
}

const words = (key: Uint8Array): Uint32Array => {
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength)
  return Uint32Array.from({ length: 8 }, (_, i) => view.getUint32(4 * i, true))
}

const bytes = (block: Uint32Array): Uint8Array => {
  const out = new Uint8Array(64)
  const view = new DataView(out.buffer)
  for (let i = 0; i < 16; i++) view.setUint32(4 * i, block[i]!, true)
  return out
}

// "expand 32-byte k"
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const

/** Exported for the RFC's own vectors. */
export const chachaBlock = (key: Uint32Array, counter: number, nonce: readonly number[] = [0, 0, 0]): Uint32Array => {
  const start = new Uint32Array(16)
  start.set(CONSTANTS)
  start.set(key, 4)
  start[12] = counter
  start.set(nonce, 13)
  const x = start.slice()
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
  for (let i = 0; i < 16; i++) x[i]! += start[i]!
  return x
}

const quarter = (x: Uint32Array, a: number, b: number, c: number, d: number): void => {
  let va = x[a]! | 0
  let vb = x[b]! | 0
  let vc = x[c]! | 0
  let vd = x[d]! | 0
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
