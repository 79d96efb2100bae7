import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapChannel } from './seams.ts'

const LATE = [2, 3, 4]

/**
 * F080: the slot that names a transfer is given to the next request while frames of the one before are still under way. They
 * arrive in the slot's new life and are taken for the new request's.
 */
export const metadataSlot: Fault = {
  name: 'metadata-slot-reused',
  class: 'F',
  harm: 'leak',
  reports: ['F080'],
  summary: 'late frames of an aborted request arrive under the number that its successor was given',
  rules: ['R8', 'R10'],
  play: async (bench) => {
    const cast = bench.cast()
    const late = new Map<string, Parameters<NonNullable<Parameters<typeof tapChannel>[0]['page']>>>()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => ({
        channel: tapChannel({
          page: (frame, rows, deliver) => {
            const place = `${frame.ordinal}/${frame.layer}`
            if (tenantOf(frame.requestId) === 'A' && LATE.includes(frame.ordinal)) {
              late.set(place, [frame, rows, deliver])
              return
            }
            const before = late.get(place)
            if (before !== undefined) deliver({ ...before[0], lease: frame.lease }, before[1])
            deliver(frame, rows)
          },
          manifest: (frame, deliver) => {
            if (tenantOf(frame.requestId) === 'B') deliver(frame)
          },
        }),
      }),
    })
    const first = rig.begin(cast.a)
    await rig.until(() => late.size === LATE.length * 2)
    first.abort()
    await first.reply
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
