import type { Checker, Life } from './checker.ts'

/** R6: no page is given up while something may still touch its bytes. Follows the beginnings and ends of the work itself. */
export const fencedReuse = (): Checker => {
  const touching = new Map<string, number>()
  const key = (life: Life, page: number): string => `${life.role} ${life.epoch} ${page}`
  const add = (life: Life, pages: Iterable<number>, by: number): null => {
    for (const page of pages) touching.set(key(life, page), (touching.get(key(life, page)) ?? 0) + by)
    return null
  }
  return {
    name: 'fenced_reuse',
    touchBegins: (life, pages) => add(life, pages, 1),
    touchEnds: (life, pages) => add(life, pages, -1),
    retire: (life, pages) => {
      for (const page of pages)
        if ((touching.get(key(life, page)) ?? 0) > 0) return `page ${page} given up while it is being touched`
      return null
    },
  }
}
