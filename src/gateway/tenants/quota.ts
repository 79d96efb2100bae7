/** One request's size, and what a page of the decode pool takes. */
export interface Demand {
  readonly promptTokens: number
  readonly n: number
  readonly pageSize: number
  readonly pageBytes: number
}

/**
 * The most output, in tokens, that each of n sequences can be contracted for within so many bytes of KV; at least 1, since where not
 * even that fits the refusal is to say so. A prompt's full pages are shared, each sequence has its own from the tail on.
 */
export const outputWithin = (kvBytes: number, { promptTokens, n, pageSize, pageBytes }: Demand): number => {
  const sharedPages = Math.floor(promptTokens / pageSize)
  const ownPages = Math.floor((Math.floor(kvBytes / pageBytes) - sharedPages) / n)
  return Math.max(1, (sharedPages + ownPages) * pageSize - promptTokens)
}
