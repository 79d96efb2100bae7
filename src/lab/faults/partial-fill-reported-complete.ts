import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapChannel } from './seams.ts'

/** The pages that get lost: the one with B's code and the two behind it. */
const LOST = [2, 3, 4]

/**
 * F065, F069: some pages of a prompt never arrive, but the sender's last word counts them as sent, and the receiver takes its
 * word for it.
 */
export const partialFill: Fault = {
  name: 'partial-fill-reported-complete',
  class: 'D',
  harm: 'leak',
  reports: ['F065', 'F069'],
  summary: 'pages are lost on the way and the manifest says that all were sent',
  rules: ['R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => ({
        channel: tapChannel({
          page: (frame, rows, deliver) => {
            if (tenantOf(frame.requestId) !== 'B' || !LOST.includes(frame.ordinal)) deliver(frame, rows)
          },
        }),
      }),
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
