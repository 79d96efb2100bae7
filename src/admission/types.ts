/** Hard limits of one model as served now (R2). All in tokens; pools already less their reserved pages, in whole pages. */
export interface ModelLimits {
  readonly advertisedWindow: number
  readonly prefillPool: number
  readonly decodePool: number
  readonly pageSize: number
}

export type Bound = 'context_window' | 'prefill_pool' | 'decode_pool'

/** What a request asks for, counted. `maxOutput` null: the client set no limit. */
export interface Demand {
  readonly promptTokens: number
  /** `at_least` when counting stopped early because the prompt was already too long. */
  readonly promptTokensIs: 'exact' | 'at_least'
  readonly maxOutput: number | null
  readonly n: number
}

/** The contract: what decode reserves and what the ticket binds. */
export interface Contract {
  readonly promptTokens: number
  /** Output tokens per sequence; reached, the finish reason is `length`. */
  readonly maxOutput: number
  readonly n: number
  readonly prefillPages: number
  readonly decodePages: number
}

/** R1: a refused request is this value and nothing else; nothing stands in for it. */
export type Verdict =
  | { readonly kind: 'admitted'; readonly contract: Contract }
  | {
      readonly kind: 'refused'
      readonly bound: Bound
      readonly promptTokens: number
      readonly promptTokensIs: 'exact' | 'at_least'
      /** Output tokens asked for over all n sequences; 0 if the client set no limit and the prompt alone is too long. */
      readonly outputTokens: number
      /** The N of the message: effective window where the prompt alone is too long, else min(advertised window, usable decode pool). */
      readonly nCtx: number
      readonly cause: 'prompt' | 'completion'
    }

/** R3: what a ticket binds, in the clear; `mac` covers all of it in a typed, length-prefixed encoding. */
export interface TicketClaims {
  readonly requestId: string
  readonly attempt: number
  readonly tenant: string
  readonly model: string
  /** Hex digest of the weights as loaded. */
  readonly weights: string
  readonly promptTokens: number
  /** SHA-256 over the token ids, hex. */
  readonly tokenDigest: string
  readonly maxOutput: number
  readonly n: number
  /** Cluster clock, milliseconds. */
  readonly expiresAt: number
}

export interface Ticket {
  readonly claims: TicketClaims
  readonly mac: string
}

export type TicketLeg = 'prefill' | 'decode'

/** `book_full`: as many unexpired tickets are remembered as may be; the leg refuses rather than forget one. */
export type TicketFault =
  | 'forged'
  | 'expired'
  | 'reused'
  | 'wrong_tokens'
  | 'wrong_model'
  | 'wrong_request'
  | 'book_full'

export type TicketCheck = { readonly kind: 'valid' } | { readonly kind: 'invalid'; readonly reason: TicketFault }

/** Injected; Node's is an HMAC-SHA-256 and SHA-256, both synchronous. */
export interface TicketCrypto {
  mac(data: Uint8Array): Uint8Array
  sha256(data: Uint8Array): Uint8Array
}
