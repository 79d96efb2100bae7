import type { EngineRequest } from '../../cluster/index.ts'
import { mix } from './hash.ts'
import { attend, drawToken, embed, keep } from './model.ts'

export interface SoloSequence {
  readonly tokens: readonly number[]
  readonly reason: 'stop' | 'length'
}

let last: {
  readonly request: EngineRequest
  readonly layers: number
  readonly answer: readonly SoloSequence[]
} | null = null

/**
 * The answer a request gets when it is alone in the world: no pages, no pool, no cluster, just the model over a list of
 * rows. What R15 compares every answer with.
 */
export const soloAnswer = (request: EngineRequest, layers: number): readonly SoloSequence[] => {
  // Each checker that wants it asks when the request is submitted, one after the other.
  if (last?.request !== request || last.layers !== layers) {
    const answer = Array.from({ length: request.contract.n }, (_, sequence) => soloSequence(request, layers, sequence))
    last = { request, layers, answer }
  }
  return last.answer
}

const soloSequence = (
  { ids, contract, sampling, endIds }: EngineRequest,
  layers: number,
  sequence: number,
): SoloSequence => {
  // The running hash of each layer's rows so far is all that later rows see of earlier ones.
  const seen = new Uint32Array(layers)
  let state = 0
  let position = 0
  const push = (token: number): void => {
    state = embed(token, position++)
    for (let layer = 0; layer < layers; layer++) {
      seen[layer] = mix(seen[layer]!, keep(state, layer))
      state = attend(state, seen[layer]!)
    }
  }
  ids.forEach(push)
  const tokens: number[] = []
  for (;;) {
    const { token } = drawToken(state, { params: sampling, sequence, index: tokens.length })
    if (endIds.includes(token)) return { tokens, reason: 'stop' }
    tokens.push(token)
    if (tokens.length === contract.maxOutput) return { tokens, reason: 'length' }
    push(token)
  }
}
