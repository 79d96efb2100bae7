import type { Prefill } from '../../cluster/index.ts'
import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapPrefill } from './seams.ts'

/**
 * F036, F088: what was handed out for one transfer is used again for the next. The order to compute A's prompt, kept from
 * before, is played again with B's lease, and A's pages are what B's decode gets first.
 */
export const staleReference: Fault = {
  name: 'stale-reference-replayed',
  class: 'B2',
  harm: 'leak',
  reports: ['F036', 'F088'],
  summary: 'the order for an earlier request\u2019s pages is replayed under the present one\u2019s lease',
  rules: ['R3', 'R4', 'R8', 'R10'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf, fired }) => {
        let old: Prefill | null = null
        return {
          prefill: tapPrefill((machine, event) => {
            if (event.kind !== 'message' || event.message.kind !== 'prefill') return machine.step(event)
            if (tenantOf(event.message.requestId) === 'A') {
              old = event.message
              return machine.step(event)
            }
            const replayed = old === null ? [] : [{ ...old, lease: event.message.lease }]
            return [...replayed, event.message].flatMap((message) => {
              const effects = machine.step({ ...event, message })
              if (effects.some((effect) => effect.kind === 'send' && effect.message.kind === 'declined')) fired('R3')
              return effects
            })
          }),
        }
      },
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
