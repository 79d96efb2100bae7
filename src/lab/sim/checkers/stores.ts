import type { Checker, Life } from './checker.ts'
import { perLife } from './per-life.ts'

/**
 * R6 over shared memory: what is stored from outside lands in a page of the attempt it was stored for, never in a free one. So
 * it is when the writer takes the attempt on and when a store is about to begin, whether or not the page's tag then keeps it
 * off: nobody relies on that.
 */
export const ownStores = (): Checker => {
  const pagesOf = perLife((life: Life) => ({
    owners: new Uint32Array(life.pages),
    attempts: new Map<number, string>(),
    claimedBy: 0,
  }))
  return {
    name: 'own_stores',
    claim: (life, pages, owners) => {
      const known = pagesOf(life)
      for (let i = 0; i < pages.length; i++) known.owners[pages[i]!] = owners[i]!
      known.claimedBy = owners[0] ?? 0
      return null
    },
    accepted: (life, requestId, attempt) => {
      const { attempts, claimedBy } = pagesOf(life)
      attempts.set(claimedBy, `${requestId}/${attempt}`)
      return null
    },
    retire: (life, pages) => {
      const { owners } = pagesOf(life)
      for (const page of pages) owners[page] = 0
      return null
    },
    store: (life, page, requestId, attempt) => {
      const { owners, attempts } = pagesOf(life)
      const owner = owners[page]!
      const holder = owner === 0 ? 'nobody' : attempts.get(owner)
      return holder === `${requestId}/${attempt}`
        ? null
        : `a store for ${requestId}/${attempt} goes to page ${page}, which ${holder} has`
    },
  }
}
