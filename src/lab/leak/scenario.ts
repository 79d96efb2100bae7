/**
 * The cast: two tenants of one model, and pools that reproduce the 2026 mismatch at the size of a laptop. The window is
 * what decode holds, prefill holds less, and tenant B's prompt lies between the two.
 */
export const PAGE_SIZE = 16
/** What is advertised, and what decode holds: 8 pages. */
export const WINDOW = 128
/** What prefill holds: 6 pages. */
export const PREFILL_POOL = 96
/** With its answer each tenant's contract takes all eight pages, so that every page of B's was A's before. */
export const ANSWER_TOKENS = 24

/** The key both tenants stored a code under; each its own code. */
const KEY = 'K7'
const KEYS_OF_A = ['K1', 'K2', KEY, KEY, KEY, KEY, KEY, KEY]
/**
 * One entry more than A: B's question comes to stand behind what A's answer is certain to end with (its code, a separator, `code`),
 * so that what is read there is in order.
 */
const KEYS_OF_B = [KEY, 'K20', 'K21', 'K22', 'K23', 'K24', 'K25', 'K26', 'K27']
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
  const codes = new Map(keys.map((key) => [key, drawCode(pick)]))
  const entries = keys.map((key) => `code ${key}=${codes.get(key)} ;`)
  return { name, prompt: `${entries.join(' ')} code ${KEY}=`, code: codes.get(KEY)! }
}

/** No character twice: a small model loses its place in a code that repeats itself. */
function drawCode(pick: (n: number) => number): string {
  const letters = [...CODE_LETTERS]
  return Array.from({ length: CODE_LENGTH }, () => letters.splice(pick(letters.length), 1)[0]).join('')
}
