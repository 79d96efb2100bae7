import type { Contract, Verdict } from '../../admission/index.ts'
import type { EngineEvent } from '../../cluster/index.ts'
import type { SampledToken } from '../../model/index.ts'
import type { Detokenizer, StopScanner } from '../../text/index.ts'
import type { ErrorBody } from '../errors.ts'
import type { EndingRule } from './ending-rule.ts'

type EngineFailure = Extract<EngineEvent, { kind: 'failed' }>

/** Where a request stands. It moves down this list only, and stays in `ended`. */
export type ExchangeState = 'received' | 'judged' | 'waiting' | 'streaming' | 'ended'

export type ExchangeEvent =
  /** Legality (R2), judged before anything else may say no. */
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  /** Pressure (R13): the tenant's rates let it through, or not. */
  | { readonly kind: 'cleared' }
  | { readonly kind: 'held_back'; readonly error: ErrorBody }
  | { readonly kind: 'engine'; readonly event: EngineEvent }
  /** The client disconnected or stopped reading. */
  | { readonly kind: 'client_gone' }

/** A token whose text, or a part of it, has been released. */
export interface ReleasedToken {
  readonly sampled: SampledToken
  /** Where the token's text begins in its sequence's text, in UTF-16 units. */
  readonly offset: number
}

export type FinishReason = 'stop' | 'length'

export interface Usage {
  readonly promptTokens: number
  /** Of those, how many the engine had computed before and reused. */
  readonly cachedTokens: number
  /** Over all sequences; tokens that a stop string cut off count, tokens made after it was found do not. */
  readonly completionTokens: number
}

/** Why an admitted request could not be completed; `broken_stream` is an engine that contradicted itself (R10, R12). */
export type ExchangeFailure = EngineFailure['code'] | 'broken_stream'

/** How a request ended (R12). There is exactly one per exchange. */
export type Ending =
  | { readonly kind: 'complete'; readonly usage: Usage }
  | { readonly kind: 'refused'; readonly verdict: Extract<Verdict, { kind: 'refused' }> }
  | { readonly kind: 'held_back'; readonly error: ErrorBody }
  | {
      readonly kind: 'failed'
      readonly code: ExchangeFailure
      readonly retryAfterSeconds: number | null
      /** Whether output was released before: then the client gets an error frame and a reset instead of a status. */
      readonly begun: boolean
      readonly usage: Usage
    }
  | { readonly kind: 'abandoned'; readonly usage: Usage }

export type ExchangeEffect =
  | { readonly kind: 'submit'; readonly contract: Contract }
  /** Everything contracted was verified and the first token exists: a status may be sent. */
  | { readonly kind: 'begin' }
  | {
      readonly kind: 'text'
      readonly sequence: number
      readonly text: string
      readonly tokens: readonly ReleasedToken[]
    }
  | { readonly kind: 'finish'; readonly sequence: number; readonly reason: FinishReason }
  | { readonly kind: 'finish_sequence'; readonly sequence: number }
  | { readonly kind: 'abort' }
  | { readonly kind: 'end'; readonly ending: Ending }

export interface ExchangeOptions {
  readonly endIds: readonly number[]
  /** Whether released tokens are reported with their text. */
  readonly logprobs: boolean
  readonly detokenizer: () => Detokenizer
  readonly stopScanner: () => StopScanner
  /** Default `wholeLength`. Another one is handed in by the laboratory alone. */
  readonly endingRule?: EndingRule
}

export interface Exchange {
  readonly state: () => ExchangeState
  /** Effects in the order in which they must be carried out. After the end: none, whatever the event. */
  step(event: ExchangeEvent): readonly ExchangeEffect[]
}
