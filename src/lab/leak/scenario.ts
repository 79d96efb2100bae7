/**
 * The cast: two tenants of one model, and pools that reproduce the 2026 mismatch at the size of a laptop. The window is
 * what decode holds, prefill holds less, and tenant B's prompt lies between the two.
 */
export const PAGE_SIZE = 16
/** What is advertised, and what decode holds: 8 pages. */
export const WINDOW = 128
/** What prefill holds: 6 pages. */
export const PREFILL_POOL = 96
export const ANSWER_TOKENS = 8
/** Tenant A is given more, so that its rows have been in every page before tenant B comes. */
export const FIRST_ANSWER_TOKENS = 48

/** The key both tenants stored a code under; each its own code. */
const KEY = 'K7'
const KEYS_OF_A = ['K1', 'K2', 'K3', KEY, 'K4', 'K5', 'K6']
const KEYS_OF_B = [KEY, 'K20', 'K21', 'K22', 'K23', 'K24', 'K25', 'K26', 'K27', 'K28']
const CODE_LENGTH = 8
const CODE_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

export interface Tenant {
  readonly name: 'A' | 'B'
  readonly prompt: string
  /** The code it stored under the key it asks for. */
  readonly code: string
}

export interface Cast {
  readonly a: Tenant
  readonly b: Tenant
}

/** New codes each time, so that what is shown cannot have been written down before. `pick(n)` draws from 0 to n - 1. */
export function castTenants(pick: (n: number) => number): Cast {
  return { a: tenant('A', KEYS_OF_A, pick), b: tenant('B', KEYS_OF_B, pick) }
}

function tenant(name: Tenant['name'], keys: readonly string[], pick: (n: number) => number): Tenant {
  const codes = new Map(
    keys.map((key) => [
      key,
      Array.from({ length: CODE_LENGTH }, () => CODE_LETTERS[pick(CODE_LETTERS.length)]).join(''),
    ]),
  )
  const entries = keys.map((key) => `code ${key}=${codes.get(key)} ;`)
  return { name, prompt: `${entries.join(' ')} code ${KEY}=`, code: codes.get(KEY)! }
}
