import { type Fences, fullFences } from '../cluster/index.ts'

/** The rules whose enforcement is a value and can be left out. R1 is a matter of types: see the leaky variants. */
export const fenceRules = ['R3', 'R4', 'R5', 'R6', 'R7', 'R8', 'R10'] as const
export type FenceRule = (typeof fenceRules)[number]

/**
 * Only these rules, nothing else. For the laboratory and for tests: what a server would do without the others, and whether
 * a rule alone is enough. Nothing outside `lab` and tests imports this file; a test keeps it so.
 */
export const partialFences = (rules: readonly FenceRule[]): Fences => {
  const full = fullFences()
  const has = (rule: FenceRule): boolean => rules.includes(rule)
  return {
    ticket: has('R3') ? full.ticket : () => ({ admit: () => ({ kind: 'valid' }) }),
    contract: has('R4') ? full.contract : () => null,
    pages: {
      owner: has('R5') ? full.pages.owner : () => true,
      filled: has('R5') ? full.pages.filled : () => true,
      fencedFree: has('R6') ? full.pages.fencedFree : () => true,
      conserved: has('R7') ? full.pages.conserved : () => true,
    },
    kernel: { tags: has('R5'), filled: has('R5'), guards: has('R5') },
    seals: has('R8') ? full.seals : { key: () => null, missing: () => null },
    identity: has('R10') ? full.identity : () => true,
  }
}

/** All rules but these. */
export const fencesWithout = (...rules: readonly FenceRule[]): Fences =>
  partialFences(fenceRules.filter((rule) => !rules.includes(rule)))
