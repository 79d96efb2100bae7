/** Values below `least` go; of those equal to it the first `ties` by id stay. */
export interface Cutoff {
  readonly least: number
  readonly ties: number
}

/** Above it a heap loses to sorting everything. */
const LARGEST_HEAP = 2048

/** Keeps the `k` largest values; 1 ≤ k ≤ values.length. */
export const kthLargest = (values: Float32Array, k: number): Cutoff => {
  const least = k <= LARGEST_HEAP ? leastOfHeap(values, k) : values.slice().sort()[values.length - k]!
  let above = 0
  for (let id = 0; id < values.length; id++) if (values[id]! > least) above++
  return { least, ties: k - above }
}

/** The smallest of the k largest values: a heap of k with the smallest on top, so that nearly every value is one comparison. */
const leastOfHeap = (values: Float32Array, k: number): number => {
  const heap = values.slice(0, k).sort() // sorted is a heap
  for (let id = k; id < values.length; id++) {
    const value = values[id]!
    if (value <= heap[0]!) continue
    let at = 0
    for (let child = 1; child < k; child = 2 * at + 1) {
      if (child + 1 < k && heap[child + 1]! < heap[child]!) child++
      if (heap[child]! >= value) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = value
  }
  return heap[0]!
}

/** Sign, exponent and three bits of the mantissa of a 32-bit float: buckets an eighth of an octave wide. */
const BUCKET_SHIFT = 20
const BUCKETS = 4096

/**
 * Keeps the fewest largest weights that hold at least `mass` of their total, at least one. Weights are finite and not
 * negative. Only the weights of the bucket in which the mass is reached are sorted: vocabularies are large.
 */
export const massCutoff = (weights: Float64Array, mass: number): Cutoff => {
  // Rounding to 32 bits keeps order, and order is all that buckets need.
  const bucketOf = new Uint32Array(new Float32Array(weights).buffer)
  const sums = new Float64Array(BUCKETS)
  let total = 0
  for (let id = 0; id < weights.length; id++) {
    const weight = weights[id]!
    total += weight
    sums[bucketOf[id]! >>> BUCKET_SHIFT]! += weight
  }
  const wanted = mass * total
  let sum = 0
  let bucket = BUCKETS - 1
  // an empty bucket holds no weight to stop at, however little is wanted
  while (bucket > 0 && (sums[bucket] === 0 || sum + sums[bucket]! < wanted)) sum += sums[bucket--]!
  const within = weightsIn(bucket, weights, bucketOf)
  for (let i = within.length - 1; i >= 0; i--) {
    sum += within[i]!
    if (sum >= wanted) return { least: within[i]!, ties: tiesAt(within, i) }
  }
  // Sums in another order may miss the total by a hair: then everything stays.
  return { least: 0, ties: weights.length }
}

/** The weights of one bucket, ascending. */
const weightsIn = (bucket: number, weights: Float64Array, bucketOf: Uint32Array): Float64Array => {
  const within = new Float64Array(weights.length)
  let count = 0
  for (let id = 0; id < weights.length; id++)
    if (bucketOf[id]! >>> BUCKET_SHIFT === bucket) within[count++] = weights[id]!
  return within.subarray(0, count).sort()
}

/** How many of the values equal to `ascending[at]` stand at or after it. */
const tiesAt = (ascending: Float64Array, at: number): number => {
  let end = at + 1
  while (end < ascending.length && ascending[end] === ascending[at]) end++
  return end - at
}
