import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'

/** F088: prefill computes another request's prompt for this one, since both share an id somewhere on the way. */
export const idsMixedUp: Fault = {
  name: 'prompt-of-another-request',
  class: 'F',
  harm: 'leak',
  reports: ['F088'],
  summary: 'prefill is handed another request\u2019s prompt under this request\u2019s name',
  rules: ['R3', 'R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        let idsOfA: Int32Array | null = null
        return {
          toPrefill: (message) => {
            if (message.kind !== 'prefill') return message
            if (tenantOf(message.requestId) === 'B') return { ...message, ids: idsOfA ?? message.ids }
            idsOfA = message.ids
            return message
          },
        }
      },
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
