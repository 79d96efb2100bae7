import type { Cast } from './cast.ts'
import type { Outcome } from './fault.ts'
import type { AskOptions, Reply, Rig } from './rig.ts'

/** Enough that A's rows go on behind its prompt, where a longer prompt of B would stand. */
const ANSWER_OF_A = 24

/** Tenant A asks for its code and gets it; its rows have then been in the pages that it gives back. Throws if it does not. */
export async function serveA(rig: Rig, { a }: Cast, options: AskOptions = {}): Promise<void> {
  const reply = await rig.ask(a, { maxTokens: ANSWER_OF_A, ...options })
  expectOwn(reply, a.code)
  await rig.settled()
}

export function expectOwn(reply: Reply, code: string): void {
  if (!reply.texts[0]?.includes(code)) throw new Error(`tenant A did not get its own code: HTTP ${reply.status}`)
}

/** Did B read A's code? */
export function readByB(rig: Rig, { a, b }: Cast, reply: Reply): Outcome {
  const text = reply.texts.join(' | ')
  const harmed = text.includes(a.code)
  const own = reply.texts.length > 0 && reply.texts.every((one) => one.includes(b.code))
  const what = harmed ? 'a stranger\u2019s code' : own ? 'own code' : 'neither code'
  return {
    ending: harmed ? 'harmed' : reply.status >= 400 ? 'refused' : own ? 'own' : 'spoilt',
    outcome: statusLine(reply, what),
    sample: `A stored ${a.code}; B stored ${b.code} and was answered ${answerOf(reply)}`,
    caughtBy: caughtBy(rig, reply),
  }
}

export const statusLine = (reply: Reply, what: string): string =>
  reply.status >= 400 ? `HTTP ${reply.status} ${reply.code ?? ''}`.trimEnd() : `HTTP ${reply.status}, ${what}`

export const answerOf = (reply: Reply): string =>
  reply.status >= 400
    ? `HTTP ${reply.status} ${reply.code ?? ''}`.trimEnd()
    : JSON.stringify(reply.texts.map((text) => text.trim()).join(' | '))

/** By what the engine reported first, and else by what it or the gateway answered. */
export function caughtBy(rig: Rig, reply: Reply | null): string | null {
  for (const event of rig.events) {
    // What another request of A's was stopped for says nothing of B's.
    if (event.kind === 'integrity_fault' && rig.tenantOf(event.requestId) !== 'A') return event.rule
    if (event.kind === 'transfer_violation' && event.reason === 'wrong_identity') return 'R10'
  }
  if (rig.failures.includes('bad_ticket')) return 'R3'
  if (rig.seen[0] !== undefined) return rig.seen[0]
  return reply?.code === 'context_length_exceeded' ? 'R2' : null
}

/** Was B answered as if all of its prompt had been read, when it had not? */
export function answeredShort(rig: Rig, { b }: Cast, reply: Reply): Outcome {
  const own = reply.texts[0]?.includes(b.code) === true
  const harmed = reply.status === 200 && !own
  return {
    ending: harmed ? 'harmed' : own ? 'own' : 'refused',
    outcome: statusLine(reply, own ? 'own code' : 'answered to a part of the prompt'),
    sample: `B stored ${b.code} in the part that was cut off and was answered ${answerOf(reply)}`,
    caughtBy: caughtBy(rig, reply),
  }
}
