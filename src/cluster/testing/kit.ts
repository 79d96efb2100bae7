import { issueTicket, type Ticket, type TicketCrypto, tokenDigest } from '../../admission/index.ts'
import { contractLayout } from '../../kv/index.ts'
import type { ForwardPlan, ForwardResult, SamplingParams } from '../../model/index.ts'
import { fullFences } from '../full-fences.ts'
import type { Lease, Prefill, Reserve } from '../messages.ts'
import type { DecodeOptions, PrefillOptions, RouterOptions } from '../options.ts'
import type { EngineRequest } from '../port.ts'

/** Pages of 4 rows, 2 layers: small enough to count by hand. */
export const PAGE_SIZE = 4
export const LAYERS = 2

/** Any function that tells different input apart will do here. */
const digest = (data: Uint8Array, start: number): Uint8Array => {
  const words = new Uint32Array(8)
  for (let lane = 0; lane < 8; lane++) {
    let hash = start + lane
    for (const byte of data) hash = Math.imul(hash ^ byte, 0x01000193) ^ (hash >>> 15)
    words[lane] = hash
  }
  return new Uint8Array(words.buffer)
}

export const crypto: TicketCrypto = { sha256: (data) => digest(data, 17), mac: (data) => digest(data, 99) }

export const greedy: SamplingParams = { temperature: 0, topP: 1, topK: 0, seed: 1, topLogprobs: null }

const worker = (pages: number) => ({
  model: 'm',
  weights: 'w',
  epoch: 7,
  shape: { pages, pageSize: PAGE_SIZE, layers: LAYERS, kvHeads: 1, headDim: 8 },
  fences: fullFences(),
  crypto,
  scrub: 'tags' as const,
  sweepEvery: 0,
})

export const prefillOptions = (pages: number, changes: Partial<PrefillOptions> = {}): PrefillOptions => ({
  ...worker(pages),
  chunkRows: 8,
  layerBudgetSeconds: 0.05,
  ...changes,
})

export const decodeOptions = (pages: number, changes: Partial<DecodeOptions> = {}): DecodeOptions => ({
  ...worker(pages),
  maxBatch: 8,
  ...changes,
})

export const routerOptions = (changes: Partial<RouterOptions> = {}): RouterOptions => ({
  model: 'm',
  weights: 'w',
  fences: fullFences(),
  crypto,
  queuePlaces: 4,
  queueTimeoutMs: 1000,
  ticketLifeMs: 60_000,
  maxAttempts: 2,
  ...changes,
})

export const idsOf = (count: number, first = 10): Int32Array => Int32Array.from({ length: count }, (_, i) => first + i)

export interface Asked {
  readonly ids?: Int32Array
  readonly tenant?: string
  readonly attempt?: number
  readonly maxOutput?: number
  readonly n?: number
}

export const ticketFor = (requestId: string, asked: Asked = {}): Ticket => {
  const { ids = idsOf(6), tenant = 'a', attempt = 1, maxOutput = 3, n = 1 } = asked
  return issueTicket(
    {
      requestId,
      attempt,
      tenant,
      model: 'm',
      weights: 'w',
      promptTokens: ids.length,
      tokenDigest: tokenDigest(ids, crypto),
      maxOutput,
      n,
      expiresAt: 1000,
    },
    crypto,
  )
}

export const reserveFor = (requestId: string, asked: Asked = {}): Reserve => ({
  kind: 'reserve',
  requestId,
  attempt: asked.attempt ?? 1,
  ticket: ticketFor(requestId, asked),
  ids: asked.ids ?? idsOf(6),
  sampling: greedy,
  endIds: [0],
})

export const prefillFor = (requestId: string, lease: Lease, asked: Asked = {}): Prefill => ({
  kind: 'prefill',
  requestId,
  attempt: asked.attempt ?? 1,
  ticket: ticketFor(requestId, asked),
  ids: asked.ids ?? idsOf(6),
  lease,
})

export const requestFor = (requestId: string, asked: Asked = {}): EngineRequest => {
  const { ids = idsOf(6), tenant = 'a', maxOutput = 3, n = 1 } = asked
  const { promptPages, totalPages } = contractLayout({ promptTokens: ids.length, maxOutput, n }, PAGE_SIZE)
  return {
    requestId,
    tenant,
    model: 'm',
    ids,
    contract: { promptTokens: ids.length, maxOutput, n, prefillPages: promptPages, decodePages: totalPages },
    sampling: greedy,
    endIds: [0],
  }
}

/** A pass that went well and drew `token` wherever one was asked for. */
export const resultOf = (plan: ForwardPlan, token = 5): ForwardResult => ({
  id: plan.id,
  results: plan.sequences.map(({ requestId, attempt, sample }) => ({
    requestId,
    attempt,
    sequence: sample?.sequence ?? null,
    fault: null,
    sampled: sample === null ? null : { token, logprob: null, top: [] },
  })),
})

type Kinds<T> = T extends { readonly kind: infer K } ? K : never
type OfKind<T, K> = Extract<T, { readonly kind: K }>

/** The effects, or messages, of one kind. */
export const ofKind = <T extends { readonly kind: string }, K extends Kinds<T>>(
  all: readonly T[],
  kind: K,
): OfKind<T, K>[] => all.filter((one) => one.kind === kind) as unknown as OfKind<T, K>[]

/** What a list of effects says to the router. */
export const said = <M>(
  effects: readonly ({ readonly kind: string } | { readonly kind: 'send'; readonly message: M })[],
): M[] => effects.flatMap((effect) => ('message' in effect && effect.kind === 'send' ? [effect.message as M] : []))
