import type { ChatMessage, Encoded } from '../../text/index.ts'
import type { ErrorBody } from '../errors.ts'

export type Surface = 'chat' | 'completions'

/** What a client asked for, every field checked and resolved except those that need chance (`seed`) or limits (`maxOutput`). */
export interface GenerationRequest {
  readonly surface: Surface
  readonly model: string
  readonly maxOutput: number | null
  readonly n: number
  readonly stream: boolean
  readonly includeUsage: boolean
  /** Up to 4, none empty. */
  readonly stop: readonly string[]
  readonly temperature: number
  readonly topP: number
  /** 0 means no limit. */
  readonly topK: number
  /** Unsigned 32-bit, or null: to be drawn. */
  readonly seed: number | null
  /** Alternatives per token, or null for no log-probabilities at all. */
  readonly topLogprobs: number | null
}

/** How one served model turns text into token ids. Both functions stop soon after `limit` ids. */
export interface PromptModel {
  readonly id: string
  /** Ids after which counting stops, at or above the effective window: what lies beyond can only be refused. */
  readonly encodeLimit: number
  encodeText(text: string, limit: number): Encoded
  /**
   * Renders the chat template and encodes it. Throws TextError `template_failed` or `template_too_costly` if the template refuses the
   * messages. Null for a model without a template: it is served for completions alone.
   */
  readonly encodeChat: ((messages: readonly ChatMessage[], limit: number) => Encoded) | null
}

/** A body to decode, parse, check and count; structured-cloneable, so it can be done on another thread. */
export interface PrepareJob {
  readonly surface: Surface | 'tokenize'
  readonly body: Uint8Array<ArrayBuffer>
}

export type Prepared =
  | {
      readonly kind: 'generation'
      readonly request: GenerationRequest
      readonly ids: Int32Array
      /** False when counting stopped early: `ids.length` is a floor and the prompt cannot fit. */
      readonly complete: boolean
    }
  | { readonly kind: 'tokens'; readonly model: string; readonly ids: Int32Array; readonly complete: boolean }
  | {
      readonly kind: 'error'
      readonly model: string | null
      readonly error: ErrorBody
      /** Of a fault of ours (`internal`), the place in our sources. */
      readonly at: string | null
    }
