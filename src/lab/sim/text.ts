import type { Detokenizer } from '../../text/index.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** Each token of the simulated vocabulary is one letter. */
export const letterOf = (token: number): string => LETTERS[token % LETTERS.length]!

export const lettersOf = (tokens: readonly number[]): string => tokens.map(letterOf).join('')

export const letterDetokenizer = (): Detokenizer => ({ push: letterOf, flush: () => '' })
