import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapChannel } from './seams.ts'

/**
 * F063, F071: sender and receiver count pages differently, and each page lands one place too early: the first is lost, the
 * last is never written. B's code stood in the first.
 */
export const shiftedPages: Fault = {
  name: 'pages-shifted-by-one',
  class: 'D',
  harm: 'leak',
  reports: ['F063', 'F071'],
  summary: 'every page lands one place too early; the last keeps what was there before',
  rules: ['R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast({ at: 0 })
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => ({
        channel: tapChannel({
          page: (frame, rows, deliver) => {
            if (tenantOf(frame.requestId) === 'A') deliver(frame, rows)
            else if (frame.ordinal > 0) deliver({ ...frame, ordinal: frame.ordinal - 1 }, rows)
          },
        }),
      }),
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
