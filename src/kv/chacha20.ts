/**
 * One block of ChaCha20's keystream (RFC 8439, section 2.3) as 16 words; key and nonce are words too, read little-endian. The
 * state stands in variables and the rounds are written out: in an array a block takes three times as long. That is how `kernels` has
 * it, for a stream once a pool; this room may not load what that one loads, and needs a block for each page and layer.
 */
export const chachaBlock = (key: Int32Array, counter: number, nonce: ArrayLike<number>, out: Int32Array): void => {
  for (let i = 0; i < 16; i++)
    out[i] = i < 4 ? CONSTANTS[i]! : i < 12 ? key[i - 4]! : i === 12 ? counter : nonce[i - 13]!
  let a0 = out[0]!
  let a1 = out[1]!
  let a2 = out[2]!
  let a3 = out[3]!
  let b0 = out[4]!
  let b1 = out[5]!
  let b2 = out[6]!
  let b3 = out[7]!
  let c0 = out[8]!
  let c1 = out[9]!
  let c2 = out[10]!
  let c3 = out[11]!
  let d0 = out[12]!
  let d1 = out[13]!
  let d2 = out[14]!
  let d3 = out[15]!
  for (let round = 0; round < 20; round += 2) {
    a0 = (a0 + b0) | 0
    d0 = turn(d0 ^ a0, 16)
    c0 = (c0 + d0) | 0
    b0 = turn(b0 ^ c0, 12)
    a0 = (a0 + b0) | 0
    d0 = turn(d0 ^ a0, 8)
    c0 = (c0 + d0) | 0
    b0 = turn(b0 ^ c0, 7)
    a1 = (a1 + b1) | 0
    d1 = turn(d1 ^ a1, 16)
    c1 = (c1 + d1) | 0
    b1 = turn(b1 ^ c1, 12)
    a1 = (a1 + b1) | 0
    d1 = turn(d1 ^ a1, 8)
    c1 = (c1 + d1) | 0
    b1 = turn(b1 ^ c1, 7)
    a2 = (a2 + b2) | 0
    d2 = turn(d2 ^ a2, 16)
    c2 = (c2 + d2) | 0
    b2 = turn(b2 ^ c2, 12)
    a2 = (a2 + b2) | 0
    d2 = turn(d2 ^ a2, 8)
    c2 = (c2 + d2) | 0
    b2 = turn(b2 ^ c2, 7)
    a3 = (a3 + b3) | 0
    d3 = turn(d3 ^ a3, 16)
    c3 = (c3 + d3) | 0
    b3 = turn(b3 ^ c3, 12)
    a3 = (a3 + b3) | 0
    d3 = turn(d3 ^ a3, 8)
    c3 = (c3 + d3) | 0
    b3 = turn(b3 ^ c3, 7)
    a0 = (a0 + b1) | 0
    d3 = turn(d3 ^ a0, 16)
    c2 = (c2 + d3) | 0
    b1 = turn(b1 ^ c2, 12)
    a0 = (a0 + b1) | 0
    d3 = turn(d3 ^ a0, 8)
    c2 = (c2 + d3) | 0
    b1 = turn(b1 ^ c2, 7)
    a1 = (a1 + b2) | 0
    d0 = turn(d0 ^ a1, 16)
    c3 = (c3 + d0) | 0
    b2 = turn(b2 ^ c3, 12)
    a1 = (a1 + b2) | 0
    d0 = turn(d0 ^ a1, 8)
    c3 = (c3 + d0) | 0
    b2 = turn(b2 ^ c3, 7)
    a2 = (a2 + b3) | 0
    d1 = turn(d1 ^ a2, 16)
    c0 = (c0 + d1) | 0
    b3 = turn(b3 ^ c0, 12)
    a2 = (a2 + b3) | 0
    d1 = turn(d1 ^ a2, 8)
    c0 = (c0 + d1) | 0
    b3 = turn(b3 ^ c0, 7)
    a3 = (a3 + b0) | 0
    d2 = turn(d2 ^ a3, 16)
    c1 = (c1 + d2) | 0
    b0 = turn(b0 ^ c1, 12)
    a3 = (a3 + b0) | 0
    d2 = turn(d2 ^ a3, 8)
    c1 = (c1 + d2) | 0
    b0 = turn(b0 ^ c1, 7)
  }
  out[0]! += a0
  out[1]! += a1
  out[2]! += a2
  out[3]! += a3
  out[4]! += b0
  out[5]! += b1
  out[6]! += b2
  out[7]! += b3
  out[8]! += c0
  out[9]! += c1
  out[10]! += c2
  out[11]! += c3
  out[12]! += d0
  out[13]! += d1
  out[14]! += d2
  out[15]! += d3
}

// "expand 32-byte k"
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const

const turn = (x: number, bits: number): number => (x << bits) | (x >>> (32 - bits))
