import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { firstRows, tapChannel } from './seams.ts'

const ROWS_SENT = 4
const SHORT = [2, 3, 4]

/** F069, F072: a page arrives with fewer rows than it has, and counts as arrived. */
export const shortRows: Fault = {
  name: 'page-with-too-few-rows',
  class: 'D',
  harm: 'leak',
  reports: ['F069', 'F072'],
  summary: 'pages arrive with four of their sixteen rows and count as delivered',
  rules: ['R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => ({
        channel: tapChannel({
          page: (frame, rows, deliver) => {
            const cut = tenantOf(frame.requestId) === 'B' && SHORT.includes(frame.ordinal)
            if (cut) deliver({ ...frame, rows: ROWS_SENT }, firstRows(rows, frame.rows, ROWS_SENT))
            else deliver(frame, rows)
          },
        }),
      }),
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
