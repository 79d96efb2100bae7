import type { SampledToken, SampleRequest, Sampler, TokenLogprob } from '../model/index.ts'
import { type Cutoff, kthLargest, massCutoff } from './cutoff.ts'
import { uniform } from './philox.ts'

/**
 * Draws one token from finite (or -Infinity) logits, in float64. Temperature 0 takes the largest logit, the lowest id among
 * equals. Otherwise: temperature, then top_k, then top_p over what top_k left (renormalised), then one draw that depends on
 * (seed, sequence, index) alone. Log-probabilities are at temperature 1 over the whole vocabulary, whatever was cut.
 */
export const sample: Sampler = (logits: Float32Array, request: SampleRequest): SampledToken => {
  const best = argmax(logits)
  const token = request.params.temperature === 0 ? best : draw(logits, logits[best]!, request)
  const alternatives = request.params.topLogprobs
  if (alternatives === null) return { token, logprob: null, top: [] }
  const logNormaliser = logSumExp(logits, logits[best]!)
  return { token, logprob: logits[token]! - logNormaliser, top: mostLikely(logits, alternatives, logNormaliser) }
}

const argmax = (logits: Float32Array): number => {
  let best = 0
  for (let id = 1; id < logits.length; id++) if (logits[id]! > logits[best]!) best = id
  return best
}

const draw = (logits: Float32Array, largest: number, { params, sequence, index }: SampleRequest): number => {
  const ids = params.topK > 0 && params.topK < logits.length ? largestIds(logits, params.topK) : null
  const weights = weightsOf(logits, ids, largest, params.temperature)
  if (params.topP < 1) cut(weights, massCutoff(weights, params.topP))
  // Summed and walked in id order: the draw needs no sort, only the set that is left.
  let total = 0
  for (let i = 0; i < weights.length; i++) total += weights[i]!
  const at = walk(weights, uniform(params.seed, sequence, index) * total)
  return ids === null ? at : ids[at]!
}

/** Ids of the k largest logits, ascending; of equal ones the lowest ids. */
const largestIds = (logits: Float32Array, k: number): Int32Array => {
  const { least, ties } = kthLargest(logits, k)
  const ids = new Int32Array(k)
  let count = 0
  let equal = 0
  for (let id = 0; id < logits.length && count < k; id++) {
    const logit = logits[id]!
    if (logit > least || (logit === least && equal++ < ties)) ids[count++] = id
  }
  return ids
}

const weightsOf = (
  logits: Float32Array,
  ids: Int32Array | null,
  largest: number,
  temperature: number,
): Float64Array => {
  const weights = new Float64Array(ids === null ? logits.length : ids.length)
  for (let i = 0; i < weights.length; i++)
    weights[i] = Math.exp((logits[ids === null ? i : ids[i]!]! - largest) / temperature)
  return weights
}

/** Where `left` runs out; never at a weight of zero. */
const walk = (weights: Float64Array, left: number): number => {
  let last = 0
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!
    if (weight === 0) continue
    last = i
    left -= weight
    if (left < 0) return i
  }
  return last // rounding left a crumb over
}

/** Zeroes what lies below the cutoff, and of those equal to it all but the first `ties`. */
const cut = (weights: Float64Array, { least, ties }: Cutoff): void => {
  let equal = 0
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!
    if (weight < least || (weight === least && ++equal > ties)) weights[i] = 0
  }
}

const logSumExp = (logits: Float32Array, largest: number): number => {
  let sum = 0
  for (let id = 0; id < logits.length; id++) sum += Math.exp(logits[id]! - largest)
  return largest + Math.log(sum)
}

/** The `count` most likely tokens, most likely first, lower id first among equals. One pass with a short sorted list. */
const mostLikely = (logits: Float32Array, count: number, logNormaliser: number): TokenLogprob[] => {
  const ids: number[] = []
  if (count === 0) return []
  for (let id = 0; id < logits.length; id++) {
    if (ids.length === count && logits[id]! <= logits[ids[count - 1]!]!) continue
    let at = ids.length
    while (at > 0 && logits[id]! > logits[ids[at - 1]!]!) at--
    ids.splice(at, 0, id)
    if (ids.length > count) ids.pop()
  }
  return ids.map((token) => ({ token, logprob: logits[token]! - logNormaliser }))
}
