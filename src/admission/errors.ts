export type AdmissionErrorCode = 'invalid_limits' | 'invalid_demand' | 'invalid_claims'

/** A caller's mistake, never a client's: a refusal is a Verdict and an unfit ticket is a TicketCheck. */
export class AdmissionError extends Error {
  override readonly name = 'AdmissionError'
  readonly code: AdmissionErrorCode
  readonly details: Readonly<Record<string, string | number>>

  constructor(init: {
    readonly code: AdmissionErrorCode
    readonly message: string
    readonly cause?: unknown
    readonly details?: Readonly<Record<string, string | number>>
  }) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause })
    this.code = init.code
    this.details = init.details ?? {}
  }
}
