import { issueTicket, type Ticket, tokenDigest } from '../../admission/index.ts'
import type { RouterOptions } from '../options.ts'
import type { Entry } from './entry.ts'

/** R3: signs what was admitted, for the entry's present attempt alone. */
export const ticketOf = ({ request, attempt }: Entry, options: RouterOptions, now: number): Ticket => {
  const { model, weights, crypto, ticketLifeMs } = options
  const { requestId, tenant, ids, contract } = request
  return issueTicket(
    {
      requestId,
      attempt,
      tenant,
      model,
      weights,
      promptTokens: ids.length,
      tokenDigest: tokenDigest(ids, crypto),
      maxOutput: contract.maxOutput,
      n: contract.n,
      expiresAt: now + ticketLifeMs,
    },
    crypto,
  )
}
