import { type Fences, fullFences } from '../../cluster/index.ts'
import { type FenceRule, fenceRules, partialFences } from '../partial-fences.ts'

/**
 * Rules that are no values but types, or the order in which things are done: switched off, a leaky variant stands in their
 * place; switched on, the product's own code does.
 */
export const typedRules = ['R1', 'R2', 'R12'] as const
export type TypedRule = (typeof typedRules)[number]

/** Every rule that can be switched on alone. */
export type Rule = FenceRule | TypedRule
export const rules: readonly Rule[] = ([...typedRules, ...fenceRules] as Rule[]).sort(
  (a, b) => Number(a.slice(1)) - Number(b.slice(1)),
)

/** Which rules stand while a fault is played. */
export interface Guards {
  readonly set: 'all' | readonly Rule[]
  has(rule: Rule): boolean
  /**
   * `all`: as `serve` builds them. Otherwise those of the set and, of R6 and R7, those that the fault does not concern: a free
   * list that works and counts that add up, which the engines that leaked had as well.
   */
  fences(bookkeeping: readonly FenceRule[]): Fences
}

export function guards(set: 'all' | readonly Rule[]): Guards {
  const has = (rule: Rule): boolean => set === 'all' || set.includes(rule)
  return {
    set,
    has,
    fences: (bookkeeping) =>
      set === 'all'
        ? fullFences()
        : partialFences(fenceRules.filter((rule) => has(rule) || bookkeeping.includes(rule))),
  }
}

/** `none`, `all`, or rules between commas or spaces; null where a word is no rule. */
export function parseGuards(text: string): 'all' | readonly Rule[] | null {
  const words = text.split(/[\s,]+/).filter((word) => word !== '')
  if (words.length === 1 && words[0] === 'all') return 'all'
  if (words.length === 1 && words[0] === 'none') return []
  const named = rules.filter((rule) => words.includes(rule))
  return words.length > 0 && words.every((word) => (rules as readonly string[]).includes(word)) ? named : null
}
