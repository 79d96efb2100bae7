import type { Cast } from './cast.ts'
import type { Outcome } from './fault.ts'
import type { AskOptions, Reply, Rig } from './rig.ts'
import type { Rule } from './rules.ts'

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
  const ending = harmed ? 'harmed' : reply.status >= 400 ? 'refused' : own ? 'own' : 'spoilt'
  return {
    ending,
    ...(ending === 'spoilt' && { unclear: reply }),
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

/** Two ways in which B asks for what A has asked for: as it was, and not quite. */
export interface Guesses {
  readonly right: () => Promise<Reply>
  readonly wrong: () => Promise<Reply>
}

/**
 * Can B tell what A has sent? By the rows that prefill has to compute, which is what an answer's delay is made of. A's own
 * repetition shows that there is a cache at all.
 */
export async function probeCache(rig: Rig, cast: Cast, rule: Rule, { right, wrong }: Guesses): Promise<Outcome> {
  await serveA(rig, cast)
  const guessed = await rowsComputed(rig, right)
  const missed = await rowsComputed(rig, wrong)
  const repeated = await rowsComputed(rig, () => rig.ask(cast.a))
  const told = guessed !== missed
  const found = `${guessed} rows computed for B\u2019s right guess, ${missed} for a wrong one`
  return {
    ending: told ? 'harmed' : repeated < guessed ? 'own' : 'spoilt',
    outcome: told ? found : `${guessed} rows computed for either guess`,
    sample: `A sent ${JSON.stringify(`${cast.a.prompt.slice(0, 20)} \u2026`)}; ${found}`,
    caughtBy: told ? null : rule,
  }
}

async function rowsComputed(rig: Rig, ask: () => Promise<Reply>): Promise<number> {
  const seen = rig.events.length
  const reply = await ask()
  if (reply.status !== 200) throw new Error(`a guess was answered HTTP ${reply.status}`)
  let rows = 0
  for (const event of rig.events.slice(seen)) if (event.kind === 'step' && event.role === 'prefill') rows += event.rows
  return rows
}
