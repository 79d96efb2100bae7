import type { Contract } from '../../admission/index.ts'
import type { Call, GatewayContext } from '../context.ts'
import type { ErrorBody } from '../errors.ts'
import type { FinishReason, Usage } from '../exchange/index.ts'
import type { GatewayModel } from '../options.ts'
import type { Grant } from '../tenants/index.ts'

/** What one request leaves behind: the tenant's account, settled once, and telemetry without a word of its text. */
export interface Books {
  /** Reserves the whole contract with the tenant's limits, or says why not. */
  reserve(contract: Contract): ErrorBody | null
  /** `x-ratelimit-*` headers as of now. */
  rateHeaders(): Readonly<Record<string, string>>
  admitted(contract: Contract): void
  /** Timed when the engine says it, not when it is carried out. */
  token(sequence: number): void
  refused(code: string): void
  completed(usage: Usage, reasons: ReadonlySet<FinishReason>): void
  failed(usage: Usage, code: string): void
  abandoned(usage: Usage): void
}

export const openBooks = (context: GatewayContext, call: Call, model: GatewayModel): Books => {
  const { limiter, options } = context
  const { clock, telemetry } = options
  const lastToken = new Map<number, number>()
  let grant: Grant | null = null

  const settle = ({ promptTokens, completionTokens }: Usage): void =>
    grant?.settle(promptTokens + completionTokens, clock.now())

  return {
    reserve({ promptTokens, maxOutput, n, decodePages }): ErrorBody | null {
      const cost = { tokens: promptTokens + maxOutput * n, kvBytes: decodePages * model.pageBytes }
      const decision = limiter.admit(call.tenant, cost, clock.now())
      if (decision.kind === 'limited') return decision.error
      grant = decision.grant
      return null
    },
    rateHeaders: () => limiter.headers(call.tenant, clock.now()),
    admitted({ promptTokens, decodePages }): void {
      telemetry({ kind: 'request_admitted', model: model.id, promptTokens, pages: decodePages })
    },
    token(sequence): void {
      const now = clock.now()
      const before = lastToken.get(sequence)
      if (lastToken.size === 0)
        telemetry({ kind: 'first_token', model: model.id, seconds: (now - call.arrivedAt) / 1000 })
      if (before !== undefined) telemetry({ kind: 'token_gap', model: model.id, seconds: (now - before) / 1000 })
      lastToken.set(sequence, now)
    },
    refused: (code) => telemetry({ kind: 'request_refused', model: model.id, code }),
    completed(usage, reasons): void {
      settle(usage)
      const reason = [...reasons].sort().join('+')
      telemetry({ kind: 'request_finished', model: model.id, reason, outputTokens: usage.completionTokens })
    },
    failed(usage, code): void {
      settle(usage)
      telemetry({ kind: 'request_failed', model: model.id, code })
    },
    abandoned(usage): void {
      settle(usage)
      telemetry({ kind: 'request_aborted', model: model.id })
    },
  }
}
