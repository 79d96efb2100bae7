import type { Tokenizer } from '../../text/index.ts'
import type { FinishReason, ReleasedToken, Usage } from '../exchange/index.ts'

/** What all messages of one answer share. */
export interface AnswerMeta {
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  readonly model: string
  /** Whether chunks carry a `usage` field at all. */
  readonly includeUsage: boolean
  /** Whether choices carry log-probabilities. */
  readonly logprobs: boolean
  /** For log-probability entries. */
  readonly tokenizer: Tokenizer
}

export interface FinishedChoice {
  readonly text: string
  readonly tokens: readonly ReleasedToken[]
  readonly reason: FinishReason
}

/** One API's messages as JSON values. */
export interface AnswerFormat {
  /** What opens a choice of a stream, or null if the API has no such chunk. */
  opening(sequence: number): object | null
  text(sequence: number, text: string, tokens: readonly ReleasedToken[]): object
  finish(sequence: number, reason: FinishReason): object
  usage(usage: Usage): object
  /** The answer in one piece. */
  whole(choices: readonly FinishedChoice[], usage: Usage): object
}
