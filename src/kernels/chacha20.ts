/**
 * ChaCha20 keystream (RFC 8439) of `bytes` bytes under a 32-byte key and a 12-byte nonce, from block 0.
 * A pseudo-random function in a few lines: it stretches the 32-byte seal key to the 1,040 bytes that NH wants.
 */
export function chacha20(key: Uint8Array, nonce: Uint8Array, bytes: number, counter = 0): Uint8Array {
  const words = (data: Uint8Array): number[] => {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
    return Array.from({ length: data.byteLength / 4 }, (_, i) => view.getUint32(i * 4, true))
  }
  const start = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, ...words(key), counter, ...words(nonce)]
  const out = new Uint8Array(Math.ceil(bytes / 64) * 64)
  const view = new DataView(out.buffer)
  for (let block = 0; block * 64 < bytes; block++) {
    start[12] = counter + block
    const x = Uint32Array.from(start)
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 4; i++) quarter(x, i, 4 + i, 8 + i, 12 + i)
      for (let i = 0; i < 4; i++) quarter(x, i, 4 + ((i + 1) % 4), 8 + ((i + 2) % 4), 12 + ((i + 3) % 4))
    }
    for (let i = 0; i < 16; i++) view.setUint32(block * 64 + i * 4, x[i]! + start[i]!, true)
  }
  return out.slice(0, bytes)
}

function quarter(x: Uint32Array, a: number, b: number, c: number, d: number): void {
  const turn = (at: number, other: number, bits: number): void => {
    const v = x[at]! ^ x[other]!
    x[at] = (v << bits) | (v >>> (32 - bits))
  }
  x[a]! += x[b]!
  turn(d, a, 16)
  x[c]! += x[d]!
  turn(b, c, 12)
  x[a]! += x[b]!
  turn(d, a, 8)
  x[c]! += x[d]!
  turn(b, c, 7)
}
