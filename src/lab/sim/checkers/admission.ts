import type { Checker } from './checker.ts'

/** R3: a worker takes on what was submitted, under the ids submitted and the ticket issued, and each attempt once per leg. */
export const boundPrompts = (): Checker => {
  const submitted = new Map<string, Int32Array>()
  const accepted = new Set<string>()
  return {
    name: 'bound_prompts',
    submitted: (request) => {
      submitted.set(request.requestId, request.ids)
    },
    accepted: (life, requestId, attempt, ids, genuine) => {
      const key = `${life.role} ${requestId} ${attempt}`
      if (accepted.has(key)) return `${key} was taken on twice`
      accepted.add(key)
      if (!genuine) return `${key} was taken on under a ticket that is forged or out of date`
      const wanted = submitted.get(requestId)
      const same = wanted !== undefined && wanted.length === ids.length && wanted.every((id, i) => id === ids[i])
      return same ? null : `${key} was taken on with ids that nobody submitted for it`
    },
  }
}
