import type { Checker, Life } from './checker.ts'
import { perLife } from './per-life.ts'

/** R6: no page is given up while something may still touch its bytes. Follows the beginnings and ends of the work itself. */
export const fencedReuse = (): Checker => {
  const touchingIn = perLife((life: Life) => new Int32Array(life.pages))
  const add = (life: Life, pages: Iterable<number>, by: number): null => {
    const touching = touchingIn(life)
    for (const page of pages) touching[page]! += by
    return null
  }
  return {
    name: 'fenced_reuse',
    touchBegins: (life, pages) => add(life, pages, 1),
    touchEnds: (life, pages) => add(life, pages, -1),
    publish: (life, page) =>
      touchingIn(life)[page]! > 0 ? `page ${page} is published while it is being touched` : null,
    retire: (life, pages) => {
      const touching = touchingIn(life)
      for (const page of pages) if (touching[page]! > 0) return `page ${page} given up while it is being touched`
      return null
    },
  }
}
