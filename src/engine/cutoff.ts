/** Weights below `least` go; of those equal to it the first `ties` by id stay. */
export interface Cutoff {
  readonly least: number
  readonly ties: number
}

/** Keeps the `k` largest weights. Weights are at most 1 and the largest is 1. */
export const kthLargest = (weights: Float64Array, k: number): Cutoff => {
  const sorted = candidates(weights, (count) => count >= k)
  return cutoffAt(sorted, k - 1)
}

/** Keeps the fewest largest weights that hold at least `mass` of the total, at least one. */
export const massCutoff = (weights: Float64Array, mass: number): Cutoff => {
  let total = 0
  for (let id = 0; id < weights.length; id++) total += weights[id]!
  const wanted = mass * total
  const sorted = candidates(weights, (_, sum) => sum >= wanted)
  let sum = 0
  let at = sorted.length - 1
  for (let i = 0; i < sorted.length; i++) {
    sum += sorted[i]!
    if (sum >= wanted) {
      at = i
      break
    }
  }
  return cutoffAt(sorted, at)
}

/**
 * The largest weights, largest first, as many as it takes: those above a floor that sinks until they suffice. Vocabularies
 * are large and their weight sits in few tokens, so almost always a few hundred numbers are sorted instead of all.
 */
const candidates = (weights: Float64Array, enough: (count: number, sum: number) => boolean): Float64Array => {
  for (let floor = 1e-2; ; floor *= 1e-3) {
    const bound = floor < 1e-300 ? 0 : floor
    let count = 0
    let sum = 0
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id]!
      if (weight >= bound) {
        count++
        sum += weight
      }
    }
    if (bound > 0 && !enough(count, sum)) continue
    return weights
      .filter((weight) => weight >= bound)
      .sort()
      .reverse()
  }
}

const cutoffAt = (sorted: Float64Array, at: number): Cutoff => {
  const least = sorted[at]!
  let first = at
  while (first > 0 && sorted[first - 1] === least) first--
  return { least, ties: at - first + 1 }
}
