import { AdmissionError } from './errors.ts'
import type { Ticket, TicketCheck, TicketClaims, TicketCrypto, TicketLeg } from './types.ts'

const DOMAIN = 'bulkhead/ticket/v1'
const encoder = new TextEncoder()

/** SHA-256 over the ids, hex: their count, then each id, all as little-endian 32-bit words. */
export function tokenDigest(ids: Int32Array, crypto: TicketCrypto): string {
  const words = new Uint8Array(4 + ids.length * 4)
  putWord(words, 0, ids.length)
  for (let i = 0; i < ids.length; i++) putWord(words, 4 + i * 4, ids[i]!)
  return hex(crypto.sha256(words))
}

function putWord(bytes: Uint8Array, at: number, word: number): void {
  bytes[at] = word
  bytes[at + 1] = word >>> 8
  bytes[at + 2] = word >>> 16
  bytes[at + 3] = word >>> 24
}

/** R3: signs what was admitted. Throws AdmissionError `invalid_claims` where a number is none. */
export function issueTicket(claims: TicketClaims, crypto: TicketCrypto): Ticket {
  if (!areClaims(claims)) {
    throw new AdmissionError({ code: 'invalid_claims', message: 'a ticket needs texts and whole numbers' })
  }
  return { claims, mac: hex(crypto.mac(encodeClaims(claims))) }
}

/** What a leg holds, against which a ticket is checked. */
export interface TicketFacts {
  readonly ids: Int32Array
  readonly model: string
  readonly weights: string
  readonly requestId: string
  readonly attempt: number
  /** Cluster clock, milliseconds. */
  readonly now: number
  readonly leg: TicketLeg
  /** Was this ticket used on this leg before? */
  readonly used: (mac: string, leg: TicketLeg) => boolean
}

/**
 * R3: does this ticket admit these very ids on this leg, now? The signature is judged first, in constant time, so
 * nothing of a forged ticket is believed. Does not remember anything: `TicketBook` does.
 */
export function checkTicket(ticket: Ticket, facts: TicketFacts, crypto: TicketCrypto): TicketCheck {
  const { claims, mac } = ticket
  if (!isSigned(claims, mac, crypto)) return { kind: 'invalid', reason: 'forged' }
  if (claims.requestId !== facts.requestId || claims.attempt !== facts.attempt) {
    return { kind: 'invalid', reason: 'wrong_request' }
  }
  if (claims.model !== facts.model || claims.weights !== facts.weights) {
    return { kind: 'invalid', reason: 'wrong_model' }
  }
  if (claims.promptTokens !== facts.ids.length || claims.tokenDigest !== tokenDigest(facts.ids, crypto)) {
    return { kind: 'invalid', reason: 'wrong_tokens' }
  }
  if (!(facts.now < claims.expiresAt)) return { kind: 'invalid', reason: 'expired' }
  if (facts.used(mac, facts.leg)) return { kind: 'invalid', reason: 'reused' }
  return { kind: 'valid' }
}

function isSigned(claims: TicketClaims, mac: string, crypto: TicketCrypto): boolean {
  // what could not have been issued is not signed, whatever the bytes say
  if (!areClaims(claims)) return false
  return constantTimeEqual(hex(crypto.mac(encodeClaims(claims))), mac)
}

/** Compares without stopping at the first difference; only the length shows. */
export function constantTimeEqual(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0
}

/** Every field with its type and length in front, so that no two claims share an encoding. */
function encodeClaims(claims: TicketClaims): Uint8Array {
  const fields: readonly (string | number)[] = [
    DOMAIN,
    claims.requestId,
    claims.attempt,
    claims.tenant,
    claims.model,
    claims.weights,
    claims.promptTokens,
    claims.tokenDigest,
    claims.maxOutput,
    claims.n,
    claims.expiresAt,
  ]
  const most = fields.reduce<number>((sum, field) => sum + (typeof field === 'string' ? 5 + 3 * field.length : 9), 0)
  const bytes = new Uint8Array(most)
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const field of fields) {
    if (typeof field === 'string') {
      const length = writeText(field, bytes, at + 5)
      bytes[at] = TEXT
      view.setUint32(at + 1, length, true)
      at += 5 + length
    } else {
      bytes[at] = NUMBER
      view.setFloat64(at + 1, field, true)
      at += 9
    }
  }
  return bytes.subarray(0, at)
}

const TEXT = 1
const NUMBER = 2

/** UTF-8, and how many bytes it took. Names are ASCII as a rule, and tickets are signed and checked three times a request. */
function writeText(text: string, bytes: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 127) return encoder.encodeInto(text, bytes.subarray(at)).written
    bytes[at + i] = unit
  }
  return text.length
}

function areClaims(claims: TicketClaims): boolean {
  const texts = [claims.requestId, claims.tenant, claims.model, claims.weights, claims.tokenDigest]
  const counts = [claims.attempt, claims.promptTokens, claims.maxOutput, claims.n]
  return (
    // lone surrogates would all be written as U+FFFD, and two names would share an encoding
    texts.every((text) => typeof text === 'string' && !/\p{Surrogate}/u.test(text)) &&
    counts.every((count) => Number.isSafeInteger(count) && count >= 0) &&
    Number.isFinite(claims.expiresAt)
  )
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

function hex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += HEX[byte]!
  return text
}
