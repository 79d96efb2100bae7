import { type Fences, fullFences } from '../cluster/index.ts'

/** The rules whose enforcement is a value and can be left out. R1 is a matter of types: see the leaky variants. */
export const fenceRules = ['R3', 'R4', 'R5', 'R6', 'R7', 'R8', 'R9', 'R10', 'R11'] as const
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
    key: has('R9') ? full.key : looseKeys,
    publish: has('R11') ? full.publish : () => true,
    identity: has('R10') ? full.identity : () => true,
  }
}

/**
 * A prefix key as engines have been known to make it: no tenant in it, an adapter's name and a salt written into the same
 * place, borders left open, and no look at the tokens once a key is found.
 */
const utf8 = new TextEncoder()
const looseKeys: Fences['key'] = {
  scope: ({ model, weights, dtype, adapter, salt }, sha256) => {
    const extra = [adapter.kind === 'adapter' ? adapter.id : '', salt.kind === 'salt' ? salt.value : '']
    return sha256(utf8.encode([model, weights, dtype, ...extra].join('')))
  },
  page: (scope, before, tokens, sha256) =>
    sha256(Uint8Array.from([...scope, ...before, ...new Uint8Array(Int32Array.from(tokens).buffer)])),
  matches: () => true,
}

/** All rules but these. */
export const fencesWithout = (...rules: readonly FenceRule[]): Fences =>
  partialFences(fenceRules.filter((rule) => !rules.includes(rule)))
