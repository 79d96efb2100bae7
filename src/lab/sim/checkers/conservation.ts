import type { Checker } from './checker.ts'
import { perLife } from './per-life.ts'

/** R7: what the ledger counts adds up to the pool, and equals what claims and retirements say is out. */
export const conservation = (): Checker => {
  const outIn = perLife(() => ({ pages: 0 }))
  return {
    name: 'conservation',
    claim: (life, pages) => {
      outIn(life).pages += pages.length
      return null
    },
    retire: (life, pages) => {
      outIn(life).pages -= pages.length
      return null
    },
    counts: (life, { total, free, owned, quarantined }) => {
      if (total !== life.pages || free + owned + quarantined !== total)
        return `${free} free, ${owned} owned, ${quarantined} quarantined of ${total} (pool ${life.pages})`
      const claimed = outIn(life).pages
      return owned + quarantined === claimed ? null : `${owned + quarantined} pages taken, ${claimed} claimed`
    },
  }
}
