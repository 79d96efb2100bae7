import type { Fault } from './fault.ts'
import { readByB, serveATwice } from './play.ts'
import { storesLastRow, tapPrefill } from './seams.ts'

/** What prefill holds in truth: four pages; decode holds sixteen, and gateway and router take prefill to be as large. */
const PREFILL_POOL = 64

/**
 * F006, F007, prefill's side: its pool is smaller than what is advertised. It computes as much of the prompt as it has room
 * for; decode reads on into pages that nobody wrote.
 */
export const shortPrefillPool: Fault = {
  name: 'prefill-pool-short',
  class: 'A2',
  harm: 'leak',
  reports: ['F006', 'F007'],
  summary: 'prefill has fewer pages than decode and computes as much of the prompt as fits',
  rules: ['R2', 'R3', 'R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast({ entriesOfA: 5, at: 6 })
    const rig = await bench.open({
      sizes: { prefill: PREFILL_POOL },
      believed: { prefill: 256 },
      sabotage: () => ({
        plan: storesLastRow(bench.guards),
        prefill: tapPrefill((machine, event) =>
          machine
            .step(
              event.kind === 'message' && event.message.kind === 'prefill'
                ? { ...event, message: { ...event.message, ids: event.message.ids.subarray(0, PREFILL_POOL) } }
                : event,
            )
            .map((effect) =>
              effect.kind === 'send' && effect.message.kind === 'hello'
                ? { ...effect, message: { ...effect.message, shape: { ...effect.message.shape, pages: 16 } } }
                : effect,
            ),
        ),
      }),
    })
    await serveATwice(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
