import type { KernelShape } from '../types.ts'

/** One sequence's K and V as plain numbers, by position: kvHeads × headDim each, K rotated. */
export interface ReferenceCache {
  readonly keys: Float64Array[]
  readonly values: Float64Array[]
}

/** Rotary embedding over interleaved pairs in double precision, in place. */
export function referenceRotary(
  row: Float64Array,
  headDim: number,
  position: number,
  theta: number,
  dims: number,
): void {
  for (let head = 0; head < row.length; head += headDim) {
    for (let i = 0; i < dims; i += 2) {
      const angle = position * theta ** (-i / dims)
      const x = row[head + i]!
      const y = row[head + i + 1]!
      row[head + i] = x * Math.cos(angle) - y * Math.sin(angle)
      row[head + i + 1] = x * Math.sin(angle) + y * Math.cos(angle)
    }
  }
}

/** Appends one row to the cache and attends to it: textbook softmax in double precision. Returns heads × headDim. */
export function referenceAttention(
  shape: KernelShape,
  cache: ReferenceCache,
  qkv: Float32Array,
  position: number,
  theta: number,
  dims: number,
): Float64Array {
  const { heads, kvHeads, headDim } = shape
  const q = Float64Array.from(qkv.subarray(0, heads * headDim))
  const k = Float64Array.from(qkv.subarray(heads * headDim, (heads + kvHeads) * headDim))
  referenceRotary(q, headDim, position, theta, dims)
  referenceRotary(k, headDim, position, theta, dims)
  cache.keys[position] = k
  cache.values[position] = Float64Array.from(qkv.subarray((heads + kvHeads) * headDim))
  const out = new Float64Array(heads * headDim)
  for (let head = 0; head < heads; head++) {
    const shared = Math.floor(head / (heads / kvHeads)) * headDim
    const scores: number[] = []
    for (let p = 0; p <= position; p++) {
      let dot = 0
      for (let d = 0; d < headDim; d++) dot += q[head * headDim + d]! * cache.keys[p]![shared + d]!
      scores.push(dot / Math.sqrt(headDim))
    }
    const top = Math.max(...scores)
    const weights = scores.map((score) => Math.exp(score - top))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    for (let p = 0; p <= position; p++) {
      for (let d = 0; d < headDim; d++) {
        out[head * headDim + d]! += (weights[p]! / total) * cache.values[p]![shared + d]!
      }
    }
  }
  return out
}
