export type HostErrorCode = 'not_private' | 'io' | 'offload_failed' | 'offload_timeout' | 'offload_stopped'

/** The one error of this room. */
export class HostError extends Error {
  readonly code: HostErrorCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(input: {
    readonly code: HostErrorCode
    readonly message: string
    readonly cause?: unknown
    readonly details?: Readonly<Record<string, unknown>>
  }) {
    super(input.message, { cause: input.cause })
    this.name = 'HostError'
    this.code = input.code
    this.details = input.details ?? {}
  }
}
