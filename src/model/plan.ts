import type { PageTable } from '../kv/index.ts'

/** How the next token is drawn from logits. Every field is resolved: no defaults are applied further down. */
export interface SamplingParams {
  /** 0 means greedy. */
  readonly temperature: number
  readonly topP: number
  /** 0 means no limit. */
  readonly topK: number
  /** Unsigned 32-bit; drawn by the gateway when the client sent none. */
  readonly seed: number
  /** How many alternatives to report with log-probabilities; null: no log-probabilities at all. */
  readonly topLogprobs: number | null
}

/** Asks for one token after a sequence's last row. The draw depends on (seed, sequence, index) alone, never on the batch. */
export interface SampleRequest {
  readonly params: SamplingParams
  /** Which of the request's n sequences, from 0. */
  readonly sequence: number
  /** How many tokens the sequence has been given before this one, from 0. */
  readonly index: number
}

/**
 * Consecutive rows of one sequence in one pass.
 * `append`: rows are written at positions `start … start + tokens.length - 1` before they are attended to.
 * `recompute`: nothing is written; the rows' KV already stands in the pool (decode's first step over the last prompt token).
 */
export interface SequencePlan {
  readonly requestId: string
  readonly attempt: number
  readonly tokens: Int32Array
  readonly start: number
  readonly write: 'append' | 'recompute'
  /** Covers every position from 0 to `start + tokens.length - 1`. */
  readonly table: PageTable
  readonly sample: SampleRequest | null
}

export interface ForwardPlan {
  readonly id: number
  readonly sequences: readonly SequencePlan[]
}

export interface TokenLogprob {
  readonly token: number
  /** Natural logarithm, at temperature 1 over the whole vocabulary. */
  readonly logprob: number
}

export interface SampledToken {
  readonly token: number
  readonly logprob: number | null
  /** Most likely first; empty unless asked for. */
  readonly top: readonly TokenLogprob[]
}

/** What the kernel or the forward pass found wrong with one sequence; it ends that request alone. */
export type ForwardFault =
  | { readonly kind: 'page_tag'; readonly page: number; readonly layer: number }
  | { readonly kind: 'unfilled_row'; readonly page: number; readonly layer: number }
  | { readonly kind: 'guard_row'; readonly page: number; readonly layer: number }
  | { readonly kind: 'write_order'; readonly page: number; readonly layer: number }
  /** `page` is the first that holds NaN or infinity; -1 where each number of every page is one. */
  | { readonly kind: 'not_finite'; readonly page: number; readonly layer: number }

/** One entry per entry of the plan, in its order, naming the request and sequence it belongs to (R10). */
export interface SequenceResult {
  readonly requestId: string
  readonly attempt: number
  /** As in the plan's `sample`; null where nothing was to be drawn. */
  readonly sequence: number | null
  readonly fault: ForwardFault | null
  /** Present exactly when the plan asked for a sample and there is no fault. */
  readonly sampled: SampledToken | null
}

export interface ForwardResult {
  readonly id: number
  readonly results: readonly SequenceResult[]
}
