import type { Fault, Outcome } from './fault.ts'
import { answeredShort } from './play.ts'

/** What the runner really holds; the gateway advertises twice that. */
const RUNNER_WINDOW = 64
const KEPT = 56

/**
 * F014, F015: a prompt longer than the runner's context is cut from the front, and what is left of it is answered as if
 * nothing were missing. B's code stood at the beginning.
 */
export const silentTruncation: Fault = {
  name: 'prompt-cut-silently',
  class: 'A3',
  harm: 'truncation',
  reports: ['F014', 'F015'],
  summary: 'a prompt too long for the runner loses its beginning and is answered all the same',
  rules: ['R2', 'R3'],
  play: async (bench): Promise<Outcome> => {
    const cast = bench.cast({ at: 0 })
    const cut = <Message extends { readonly kind: string }>(message: Message): Message =>
      'ids' in message && message.ids instanceof Int32Array && message.ids.length > RUNNER_WINDOW
        ? { ...message, ids: message.ids.slice(-KEPT) }
        : message
    const rig = await bench.open({
      sizes: { window: RUNNER_WINDOW },
      believed: { window: 128 },
      sabotage: () => ({ toPrefill: cut, toDecode: cut }),
    })
    return answeredShort(rig, cast, await rig.ask(cast.b))
  },
}
