import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  AdmissionError,
  checkTicket,
  issueTicket,
  TicketBook,
  type TicketClaims,
  type TicketCrypto,
  type TicketFacts,
  tokenDigest,
} from './index.ts'

const crypto: TicketCrypto = {
  mac: (data) => new Uint8Array(createHmac('sha256', 'key of this test').update(data).digest()),
  sha256: (data) => new Uint8Array(createHash('sha256').update(data).digest()),
}
const other: TicketCrypto = {
  ...crypto,
  mac: (data) => new Uint8Array(createHmac('sha256', 'another').update(data).digest()),
}

const ids = Int32Array.of(1, 5, 9, 70_000)
const claims: TicketClaims = {
  requestId: 'req-1',
  attempt: 0,
  tenant: 'acme',
  model: 'tiny',
  weights: 'abcd',
  promptTokens: ids.length,
  tokenDigest: tokenDigest(ids, crypto),
  maxOutput: 16,
  n: 1,
  expiresAt: 1000,
}
const facts: Omit<TicketFacts, 'used'> = {
  ids,
  model: 'tiny',
  weights: 'abcd',
  requestId: 'req-1',
  attempt: 0,
  now: 999,
  leg: 'prefill',
}
const unused = (): boolean => false

describe('tokenDigest', () => {
  it('hashes the count and the ids as little-endian words', () => {
    const bytes = Uint8Array.of(2, 0, 0, 0, 1, 0, 0, 0, 0x70, 0x11, 1, 0)
    expect(tokenDigest(Int32Array.of(1, 0x11170), crypto)).toBe(createHash('sha256').update(bytes).digest('hex'))
  })

  it('differs for ids that are cut, swapped or padded', () => {
    const digests = [ids, ids.slice(0, 1), Int32Array.of(5, 1, 9, 70_000), Int32Array.of(...ids, 0)].map((of) =>
      tokenDigest(of, crypto),
    )
    expect(new Set(digests).size).toBe(4)
  })
})

describe('checkTicket', () => {
  const ticket = issueTicket(claims, crypto)
  const reason = (changed: Partial<TicketFacts>, of = ticket, by = crypto): string => {
    const check = checkTicket(of, { ...facts, used: unused, ...changed }, by)
    return check.kind === 'valid' ? 'valid' : check.reason
  }

  it('admits the very ids it was issued for', () => {
    expect(reason({})).toBe('valid')
  })

  it('names what does not match', () => {
    expect(reason({ ids: Int32Array.of(1) })).toBe('wrong_tokens')
    expect(reason({ ids: Int32Array.of(1, 5, 9, 70_001) })).toBe('wrong_tokens')
    expect(reason({ model: 'recall' })).toBe('wrong_model')
    expect(reason({ weights: 'abce' })).toBe('wrong_model')
    expect(reason({ requestId: 'req-2' })).toBe('wrong_request')
    expect(reason({ attempt: 1 })).toBe('wrong_request')
    expect(reason({ now: 1000 })).toBe('expired')
    expect(reason({ now: Number.NaN })).toBe('expired')
    expect(reason({ used: () => true })).toBe('reused')
  })

  it('believes nothing of a ticket signed by another, or changed in any claim', () => {
    expect(reason({}, ticket, other)).toBe('forged')
    expect(reason({}, { claims, mac: '' })).toBe('forged')
    expect(reason({}, { claims, mac: ticket.mac.toUpperCase() })).toBe('forged')
    for (const key of Object.keys(claims) as (keyof TicketClaims)[]) {
      const value = claims[key]
      const changed = { ...claims, [key]: typeof value === 'number' ? value + 1 : `${value}x` }
      expect(reason({}, { claims: changed, mac: ticket.mac }), key).toBe('forged')
    }
  })

  it('never gives two different claims one signature, wherever their texts are cut', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\u0001', '\u0000', '\u0002'), maxLength: 5 })
    const some = fc.record({ requestId: text, tenant: text, model: text, weights: text })
    fc.assert(
      fc.property(some, some, (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b)
        const macs = [a, b].map((of) => issueTicket({ ...claims, ...of }, crypto).mac)
        expect(macs[0] === macs[1]).toBe(same)
      }),
      { numRuns: 1000 },
    )
  })

  it('keeps texts apart that hold the bytes of a border', () => {
    const border = '\u0001\0\0\0\0'
    const one = issueTicket({ ...claims, tenant: 'a', model: `b${border}c` }, crypto)
    const other = issueTicket({ ...claims, tenant: `a${border}b`, model: 'c' }, crypto)
    expect(one.mac).not.toBe(other.mac)
  })

  it('does not admit ids under a signed count that is not theirs', () => {
    const ticket = issueTicket({ ...claims, promptTokens: ids.length + 1 }, crypto)
    expect(checkTicket(ticket, { ...facts, used: unused }, crypto)).toEqual({ kind: 'invalid', reason: 'wrong_tokens' })
  })

  it('is not issued for what is no number or no text', () => {
    expect(() => issueTicket({ ...claims, promptTokens: -1 }, crypto)).toThrow(AdmissionError)
    expect(() => issueTicket({ ...claims, expiresAt: Number.NaN }, crypto)).toThrow(AdmissionError)
    expect(() => issueTicket({ ...claims, tenant: '\ud800' }, crypto)).toThrow(AdmissionError)
  })
})

describe('TicketBook', () => {
  const ticketOf = (attempt: number): ReturnType<typeof issueTicket> => issueTicket({ ...claims, attempt }, crypto)

  it('admits a ticket once on each leg', () => {
    const book = new TicketBook(crypto)
    const ticket = ticketOf(0)
    expect(book.admit(ticket, facts).kind).toBe('valid')
    expect(book.admit(ticket, facts)).toEqual({ kind: 'invalid', reason: 'reused' })
    expect(book.admit(ticket, { ...facts, leg: 'decode' }).kind).toBe('valid')
  })

  it('does not spend a ticket that was refused', () => {
    const book = new TicketBook(crypto)
    expect(book.admit(ticketOf(0), { ...facts, ids: Int32Array.of(3) }).kind).toBe('invalid')
    expect(book.admit(ticketOf(0), facts).kind).toBe('valid')
  })

  it('forgets expired tickets, refuses rather than forget others, and stays within its capacity', () => {
    const book = new TicketBook(crypto, 2)
    for (const attempt of [0, 1]) expect(book.admit(ticketOf(attempt), { ...facts, attempt }).kind).toBe('valid')
    expect(book.admit(ticketOf(2), { ...facts, attempt: 2 })).toEqual({ kind: 'invalid', reason: 'book_full' })
    expect(book.admit(ticketOf(0), facts)).toEqual({ kind: 'invalid', reason: 'reused' })
    const later = issueTicket({ ...claims, attempt: 3, expiresAt: 5000 }, crypto)
    expect(book.admit(later, { ...facts, attempt: 3, now: 1000 }).kind).toBe('valid')
    expect(book.size).toBe(1)
  })

  it('never forgets a ticket that has not expired, whatever expired before and after it', () => {
    const book = new TicketBook(crypto, 3)
    const until = (attempt: number, expiresAt: number) => issueTicket({ ...claims, attempt, expiresAt }, crypto)
    const tickets = [until(0, 100), until(1, 5000), until(2, 100)]
    for (const [attempt, ticket] of tickets.entries()) book.admit(ticket, { ...facts, attempt, now: 0 })
    expect(book.admit(until(3, 5000), { ...facts, attempt: 3, now: 200 }).kind).toBe('valid')
    expect(book.admit(tickets[1]!, { ...facts, attempt: 1, now: 200 })).toEqual({ kind: 'invalid', reason: 'reused' })
  })
})
