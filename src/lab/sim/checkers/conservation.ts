import type { Checker, Life } from './checker.ts'

/** R7: what the ledger counts adds up to the pool, and equals what claims and retirements say is out. */
export const conservation = (): Checker => {
  const out = new Map<string, number>()
  const key = (life: Life): string => `${life.role} ${life.epoch}`
  const add = (life: Life, pages: number): null => {
    out.set(key(life), (out.get(key(life)) ?? 0) + pages)
    return null
  }
  return {
    name: 'conservation',
    claim: (life, pages) => add(life, pages.length),
    retire: (life, pages) => add(life, -pages.length),
    counts: (life, { total, free, owned, quarantined }) => {
      if (total !== life.pages || free + owned + quarantined !== total)
        return `${free} free, ${owned} owned, ${quarantined} quarantined of ${total} (pool ${life.pages})`
      const taken = out.get(key(life)) ?? 0
      return owned + quarantined === taken ? null : `${owned + quarantined} pages taken, ${taken} claimed`
    },
  }
}
