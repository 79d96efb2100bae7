/**
 * Who takes part and what they say. Prompts are made of entries of eleven tokens, so that the same place of two prompts of
 * equal length stands in the same rows of the same pages: what is read from a stranger's page then lines up.
 */
export const PAGE_SIZE = 16
const ENTRY_TOKENS = 11
export const CODE_LENGTH = 8
const CODE_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** The key that everybody stored a code under; each their own code. */
export const KEY = 'K7'

export type Tenant = 'A' | 'B'

export interface Part {
  readonly tenant: Tenant
  readonly prompt: string
  /** What it stored under the key it asks for. */
  readonly code: string
}

export interface Cast {
  /** Says its code in every entry, so that every page it fills holds it. */
  readonly a: Part
  /** Says its code once, in entry `at`, among codes of other keys. */
  readonly b: Part
}

/** Tokens of a prompt of so many entries: the beginning of the text, the entries, `code` and the key. */
export const promptTokens = (entries: number): number => 1 + entries * ENTRY_TOKENS + 2

export interface CastOptions {
  /** Entries of each prompt; default 8, that is 91 tokens in six pages. */
  readonly entries?: number
  readonly entriesOfA?: number
  /** Where B's own code stands; default 3, in the middle of page 2. */
  readonly at?: number
}

/** New codes each time, so that what is shown cannot have been written down before. `pick(n)` draws from 0 to n - 1. */
export function castTenants(pick: (n: number) => number, options: CastOptions = {}): Cast {
  const { entries = 8, entriesOfA = entries, at = 3 } = options
  // No character twice: what follows a character is then what the model goes by, and it has been seen once.
  const draw = (): string => {
    const left = [...CODE_LETTERS]
    return Array.from({ length: CODE_LENGTH }, () => left.splice(pick(left.length), 1)[0]).join('')
  }
  const a = draw()
  const b = draw()
  const ofB = Array.from({ length: entries }, (_, i) => (i === at ? entry(KEY, b) : entry(`K${20 + i}`, draw())))
  return {
    a: { tenant: 'A', code: a, prompt: asking(Array.from({ length: entriesOfA }, () => entry(KEY, a))) },
    b: { tenant: 'B', code: b, prompt: asking(ofB) },
  }
}

const entry = (key: string, code: string): string => `code ${key}=${code} ;`
const asking = (entries: readonly string[]): string => `${entries.join(' ')} code ${KEY}=`
