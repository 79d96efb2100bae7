import { oneLine } from '../telemetry/index.ts'

/** Stable codes; messages are for people and may change. */
export type TextErrorCode =
  | 'unsupported_tokenizer'
  | 'unsupported_pre_tokenizer'
  | 'bad_vocabulary'
  | 'template_invalid'
  | 'template_failed'
  | 'template_too_costly'

/** The one error of this room. `details` never holds prompt text: names of file keys and numbers only. */
export class TextError extends Error {
  override readonly name = 'TextError'
  readonly code: TextErrorCode
  readonly details: Readonly<Record<string, string | number>>

  constructor(init: {
    readonly code: TextErrorCode
    readonly message: string
    readonly cause?: unknown
    readonly details?: Readonly<Record<string, string | number>>
  }) {
    super(oneLine(init.message), init.cause === undefined ? undefined : { cause: init.cause })
    this.code = init.code
    this.details = init.details ?? {}
  }
}
