import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { storesLastRow, tapChannel } from './seams.ts'

/**
 * F002: prefill refuses a request for some other reason than its length and gives it up after the first page. Its sender is
 * not told and closes the transfer as complete; decode goes on.
 */
export const stubCompletes: Fault = {
  name: 'given-up-but-completed',
  class: 'A1',
  harm: 'leak',
  reports: ['F002'],
  summary: 'prefill gives a request up after one page and its sender closes the transfer as complete',
  rules: ['R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => ({
        plan: storesLastRow(bench.guards),
        channel: tapChannel({
          page: (frame, rows, deliver) => {
            if (tenantOf(frame.requestId) === 'A' || frame.ordinal === 0) deliver(frame, rows)
          },
        }),
      }),
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
