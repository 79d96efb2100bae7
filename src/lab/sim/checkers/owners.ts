import type { Checker, Life } from './checker.ts'

/** R5, R7: no page has two owners at once, and none is given up twice. Follows claims and retirements alone. */
export const ownerUniqueness = (): Checker => {
  const owners = new Map<string, number>()
  const key = (life: Life, page: number): string => `${life.role} ${life.epoch} ${page}`
  return {
    name: 'owner_uniqueness',
    claim: (life, pages, claimedBy) => {
      for (const [i, page] of pages.entries()) {
        const owner = owners.get(key(life, page))
        if (owner !== undefined) return `page ${page} claimed for owner ${claimedBy[i]} while owner ${owner} has it`
        owners.set(key(life, page), claimedBy[i]!)
      }
      return null
    },
    retire: (life, pages) => {
      for (const page of pages) if (!owners.delete(key(life, page))) return `page ${page} given up while nobody has it`
      return null
    },
  }
}
