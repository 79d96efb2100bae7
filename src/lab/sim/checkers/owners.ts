import type { Checker, Life } from './checker.ts'
import { perLife } from './per-life.ts'

/** R5, R7: no page has two owners at once, and none is given up twice. Follows claims and retirements alone. */
export const ownerUniqueness = (): Checker => {
  const ownersIn = perLife((life: Life) => new Uint32Array(life.pages))
  return {
    name: 'owner_uniqueness',
    claim: (life, pages, claimedBy) => {
      const owners = ownersIn(life)
      for (let i = 0; i < pages.length; i++) {
        const page = pages[i]!
        if (owners[page] !== 0)
          return `page ${page} claimed for owner ${claimedBy[i]} while owner ${owners[page]} has it`
        owners[page] = claimedBy[i]!
      }
      return null
    },
    publish: (life, page, from, to) => {
      const owners = ownersIn(life)
      const had = owners[page]
      owners[page] = to
      return had === from && from !== 0 ? null : `page ${page} passed from owner ${from} to ${to} while ${had} has it`
    },
    retire: (life, pages) => {
      const owners = ownersIn(life)
      for (const page of pages) {
        if (owners[page] === 0) return `page ${page} given up while nobody has it`
        owners[page] = 0
      }
      return null
    },
  }
}
