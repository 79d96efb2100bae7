import type { Checker } from './checker.ts'
import { perLife } from './per-life.ts'

/** R11: a page is published only after all rows of its request's prompt stood, and only if the request was not given up. */
export const publishedAfterCommit = (): Checker => {
  const memoryOf = perLife(() => ({ claimedBy: 0, attempts: new Map<number, string>(), committed: new Set<string>() }))
  return {
    name: 'published_after_commit',
    claim: (life, _pages, owners) => {
      memoryOf(life).claimedBy = owners[0] ?? 0
      return null
    },
    accepted: (life, requestId, attempt) => {
      const { claimedBy, attempts } = memoryOf(life)
      attempts.set(claimedBy, `${requestId}/${attempt}`)
      return null
    },
    committed: (life, requestId, attempt) => {
      memoryOf(life).committed.add(`${requestId}/${attempt}`)
    },
    givenUp: (life, requestId, attempt) => {
      memoryOf(life).committed.delete(`${requestId}/${attempt}`)
    },
    publish: (life, page, from) => {
      const { attempts, committed } = memoryOf(life)
      const attempt = attempts.get(from)
      if (attempt !== undefined && committed.has(attempt)) return null
      return `page ${page} of ${attempt} was published though its prompt was not computed in full, or was given up`
    },
  }
}
