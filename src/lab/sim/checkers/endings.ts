import type { Checker } from './checker.ts'

/** R12 and liveness: every submitted request ends exactly once, nothing follows its ending, and tokens come in order. */
export const endings = (): Checker => {
  const live = new Map<string, Map<number, number>>()
  return {
    name: 'endings',
    submitted: ({ requestId }) => {
      live.set(requestId, new Map())
    },
    reset: (requestId) => {
      live.delete(requestId)
    },
    delivered: (requestId, event) => {
      const next = live.get(requestId)
      if (next === undefined) return `${event.kind} for ${requestId} after its ending`
      if (event.kind === 'done' || event.kind === 'failed') live.delete(requestId)
      if (event.kind !== 'token') return null
      const expected = next.get(event.sequence) ?? 0
      next.set(event.sequence, expected + 1)
      return event.index === expected ? null : `token ${event.index} of ${requestId} where ${expected} was due`
    },
    end: () => (live.size === 0 ? null : `${live.size} requests never ended, ${[...live.keys()][0]} among them`),
  }
}
