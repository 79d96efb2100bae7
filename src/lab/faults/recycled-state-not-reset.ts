import type { ManifestFrame } from '../../cluster/index.ts'
import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { storesLastRow, tapChannel } from './seams.ts'

/**
 * F075, F080: a recycled slot keeps the state of whoever had it before. Here the slot in which a transfer's end is noted
 * still says that A's is over when B gets it, and decode begins before a page has come.
 */
export const recycledState: Fault = {
  name: 'recycled-state-not-reset',
  class: 'E',
  harm: 'leak',
  reports: ['F075', 'F080'],
  summary: 'a recycled slot still says that the transfer is complete, and decode begins before it has begun',
  rules: ['R4', 'R5', 'R8', 'R10'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        let left: ManifestFrame | null = null
        return {
          plan: storesLastRow(bench.guards),
          channel: (next) => ({
            ...tapChannel({
              page: (frame, rows, deliver) => {
                if (tenantOf(frame.requestId) === 'B' && left !== null) {
                  next.sendManifest({ ...left, lease: frame.lease })
                  left = null
                }
                deliver(frame, rows)
              },
              manifest: (frame, deliver) => {
                if (tenantOf(frame.requestId) === 'A') left = frame
                deliver(frame)
              },
            })(next),
          }),
        }
      },
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
