export type RuntimeErrorCode = 'worker_failed_to_start' | 'model_unusable'

/** The one error of this room. */
export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(input: {
    readonly code: RuntimeErrorCode
    readonly message: string
    readonly cause?: unknown
    readonly details?: Readonly<Record<string, unknown>>
  }) {
    super(input.message, { cause: input.cause })
    this.name = 'RuntimeError'
    this.code = input.code
    this.details = input.details ?? {}
  }
}
