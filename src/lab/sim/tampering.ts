import { issueTicket, type Ticket } from '../../admission/index.ts'
import type { Prefill, Reserve } from '../../cluster/index.ts'
import type { SimContext } from './context.ts'
import { simCrypto } from './crypto.ts'

/** What becomes of ids and tickets between the router and a worker. */
export class Tampering {
  readonly #context: SimContext
  readonly #mixedUp = new Map<string, 'ids' | 'placeholder' | 'none'>()
  #lastTicket: Ticket | null = null

  constructor(context: SimContext) {
    this.#context = context
  }

  of<M extends Reserve | Prefill>(message: M, leg: 'prefill' | 'decode'): M {
    const ids = this.#ids(message.requestId, message.ids, leg)
    const ticket = this.#ticket(message.ticket)
    return ids === message.ids && ticket === message.ticket ? message : { ...message, ids, ticket }
  }

  /** The ticket that reaches a worker: forged, out of date, or as it was issued. */
  #ticket(ticket: Ticket): Ticket {
    const { forgeries, oracle, world } = this.#context
    const stolen = this.#lastTicket ?? ticket
    this.#lastTicket = ticket
    let sent = ticket
    if (this.#context.strikes('forgedTicket')) sent = forge(ticket, stolen, oracle.choose('how forged', 5))
    else if (this.#context.strikes('expiredTicket'))
      sent = issueTicket({ ...ticket.claims, expiresAt: world.now - oracle.choose('how old', 3) }, simCrypto)
    if (sent !== ticket) forgeries.add(sent)
    return sent
  }

  /**
   * The ids that reach a worker. Mixed up: both legs get the same wrong ids. Placeholder: the fault of 2026, prefill gets one
   * token where a prompt belongs.
   */
  #ids(requestId: string, ids: Int32Array, leg: 'prefill' | 'decode'): Int32Array {
    let fate = this.#mixedUp.get(requestId)
    if (fate === undefined) {
      if (this.#context.strikes('mixedUpIds')) fate = 'ids'
      else fate = this.#context.strikes('placeholder') ? 'placeholder' : 'none'
      this.#mixedUp.set(requestId, fate)
    }
    if (fate === 'ids') return ids.map((id, i) => (i === 0 ? id + 1 : id))
    return fate === 'placeholder' && leg === 'prefill' && ids.length > 1 ? Int32Array.of(0) : ids
  }
}

/** Another request's ticket, one with a wrong signature, or one whose words were changed after it was signed. */
const forge = (ticket: Ticket, stolen: Ticket, how: number): Ticket => {
  const { claims, mac } = ticket
  switch (how) {
    case 0:
      return stolen === ticket ? { claims, mac: '' } : { ...stolen }
    case 1:
      return { claims, mac: `${mac.startsWith('0') ? '1' : '0'}${mac.slice(1)}` }
    case 2:
      return { claims: { ...claims, maxOutput: claims.maxOutput + 1 }, mac }
    case 3:
      return { claims: { ...claims, tenant: `${claims.tenant}x` }, mac }
    default:
      return { claims: { ...claims, expiresAt: claims.expiresAt + 1 }, mac }
  }
}
