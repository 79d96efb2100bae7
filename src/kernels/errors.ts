export type KernelsErrorCode = 'bad_shape' | 'pool_too_large' | 'no_memory' | 'bad_call' | 'helper_failed'

export interface KernelsErrorDetails {
  /** For `pool_too_large`: pages asked for and the most that fit. */
  readonly pages?: number
  readonly largest?: number
  /** For `pool_too_large` of several pools in one memory, whose `pages` are counted together: bytes wanted and the most there are. */
  readonly bytes?: number
  readonly limit?: number
}

/** A call that can never be right. What may go wrong with a sequence's pages is an `AttentionFault`, not an error. */
export class KernelsError extends Error {
  override readonly name = 'KernelsError'
  readonly code: KernelsErrorCode
  readonly details: KernelsErrorDetails

  constructor(init: { code: KernelsErrorCode; message: string; details?: KernelsErrorDetails; cause?: unknown }) {
    super(init.message, { cause: init.cause })
    this.code = init.code
    this.details = init.details ?? {}
  }
}
