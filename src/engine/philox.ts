/**
 * Philox4x32-10, a counter-based generator: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011. Counter-based, so that a draw depends on its place alone and never on what else was drawn.
 */
const M0 = 0xd2511f53
const M1 = 0xcd9e8d57
const W0 = 0x9e3779b9
const W1 = 0xbb67ae85

export const philox4x32 = (
  counter: readonly [number, number, number, number],
  key: readonly [number, number],
): [number, number, number, number] => {
  let [c0, c1, c2, c3] = counter
  let [k0, k1] = key
  for (let round = 0; round < 10; round++) {
    const high0 = highWord(M0, c0)
    const high1 = highWord(M1, c2)
    const low0 = Math.imul(M0, c0) >>> 0
    const low1 = Math.imul(M1, c2) >>> 0
    ;[c0, c1, c2, c3] = [(high1 ^ c1 ^ k0) >>> 0, low1, (high0 ^ c3 ^ k1) >>> 0, low0]
    k0 = (k0 + W0) >>> 0
    k1 = (k1 + W1) >>> 0
  }
  return [c0, c1, c2, c3]
}

/** Uniform in [0, 1), 53 bits, a function of its arguments alone. */
export const uniform = (seed: number, sequence: number, index: number): number => {
  const [a, b] = philox4x32([index >>> 0, sequence >>> 0, 0, 0], [seed >>> 0, 0])
  return ((a >>> 5) * 67_108_864 + (b >>> 6)) / 9_007_199_254_740_992
}

/** Upper 32 bits of the 64-bit product of two unsigned 32-bit numbers, in 16-bit halves. */
const highWord = (a: number, b: number): number => {
  const aLow = a & 0xffff
  const aHigh = a >>> 16
  const bLow = b & 0xffff
  const bHigh = b >>> 16
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16)
  const carry = aLow * bHigh + (middle & 0xffff)
  return (aHigh * bHigh + Math.floor(middle / 65_536) + Math.floor(carry / 65_536)) >>> 0
}
