import { checkTicket, type TicketFacts } from './ticket.ts'
import type { Ticket, TicketCheck, TicketCrypto } from './types.ts'

/**
 * Remembers the tickets used on one worker's leg until they expire, so that each admits once per leg (R3). Memory is
 * bounded: with `capacity` unexpired tickets remembered, further ones are refused rather than one forgotten.
 */
export class TicketBook {
  readonly #crypto: TicketCrypto
  readonly #capacity: number
  /** By leg and mac; the value is the expiry. */
  readonly #used = new Map<string, number>()

  constructor(crypto: TicketCrypto, capacity = 65_536) {
    this.#crypto = crypto
    this.#capacity = capacity
  }

  get size(): number {
    return this.#used.size
  }

  /** Checks a ticket and, if it is valid, spends it: the same call again answers `reused`. */
  admit(ticket: Ticket, facts: Omit<TicketFacts, 'used'>): TicketCheck {
    const { ids, model, weights, requestId, attempt, now, leg: here } = facts
    const used = (mac: string, leg: string): boolean => this.#used.has(`${leg}:${mac}`)
    const held = { ids, model, weights, requestId, attempt, now, leg: here, used }
    const check = checkTicket(ticket, held, this.#crypto)
    if (check.kind === 'invalid') return check
    if (this.#used.size >= this.#capacity) this.#forgetExpired(facts.now)
    if (this.#used.size >= this.#capacity) return { kind: 'invalid', reason: 'book_full' }
    this.#used.set(`${facts.leg}:${ticket.mac}`, ticket.claims.expiresAt)
    return check
  }

  /** From the front: a router's tickets expire in the order in which it issued them, and a full book must not be read through each time. */
  #forgetExpired(now: number): void {
    for (const [key, expiresAt] of this.#used) {
      if (expiresAt > now) return
      this.#used.delete(key)
    }
  }
}
