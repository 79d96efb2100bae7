import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapChannel } from './seams.ts'

/** What prefill holds in truth, four pages; decode holds sixteen, and the gateway takes prefill to be as large. */
const PREFILL_POOL = 64
/** B's prompt takes six pages: the first two have made room for the last two before they could be sent. */
const OVERWRITTEN = 2

/**
 * F006, F007, prefill's side: its pool is smaller than what is advertised. A longer prompt goes round in it, so that its first
 * pages are gone when they are to be sent; decode has reserved for them all.
 */
export const shortPrefillPool: Fault = {
  name: 'prefill-pool-short',
  class: 'A2',
  harm: 'leak',
  reports: ['F006', 'F007'],
  summary: 'prefill has fewer pages than the prompt; those at the beginning are never sent',
  rules: ['R2', 'R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast({ entriesOfA: 5, at: 0 })
    // The memory is there; that no more than four pages of it are used is what the channel shows.
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => ({
        channel: tapChannel({
          page: (frame, rows, deliver) => {
            if (tenantOf(frame.requestId) === 'A' || frame.ordinal >= OVERWRITTEN) deliver(frame, rows)
          },
          manifest: (frame, deliver) =>
            deliver(
              tenantOf(frame.requestId) === 'A' ? frame : { ...frame, pages: PREFILL_POOL / 16, rows: PREFILL_POOL },
            ),
        }),
      }),
    })
    if (bench.guards.has('R2')) rig.believe({ prefill: PREFILL_POOL })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
