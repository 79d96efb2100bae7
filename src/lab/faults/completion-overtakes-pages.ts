import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapChannel } from './seams.ts'

/** From this page on, pages come after the last word. */
const LATE_FROM = 2
const LATE_UNTIL = 5

/**
 * F064, F073: the note that a transfer is complete takes another way than its pages and is there before the last of them.
 */
export const manifestOvertakes: Fault = {
  name: 'completion-overtakes-pages',
  class: 'D',
  harm: 'leak',
  reports: ['F064', 'F073'],
  summary: 'the word that all was sent arrives before the last pages do',
  rules: ['R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        const late: (() => void)[] = []
        return {
          channel: tapChannel({
            page: (frame, rows, deliver) => {
              const slow = frame.ordinal >= LATE_FROM && frame.ordinal < LATE_UNTIL
              if (slow && tenantOf(frame.requestId) === 'B') late.push(() => deliver(frame, rows))
              else deliver(frame, rows)
            },
            manifest: (frame, deliver) => {
              deliver(frame)
              for (const page of late.splice(0)) page()
            },
          }),
        }
      },
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
