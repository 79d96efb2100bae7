import type { PageFrame } from '../../cluster/index.ts'
import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapChannel } from './seams.ts'

/**
 * F083: the room in which two legs of a request meet is a number that each client's gateway draws for itself. Two requests
 * have drawn the same, and what is sent for one arrives for the other too.
 */
export const roomCollision: Fault = {
  name: 'two-requests-in-one-room',
  class: 'F',
  harm: 'leak',
  reports: ['F083', 'F084'],
  summary: 'two live requests share a transfer\u2019s number, and pages of one arrive for the other',
  rules: ['R8', 'R10'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        const pages = { A: new Map<string, () => void>(), B: new Map<string, () => void>() }
        const copies = new Map<string, (frame: PageFrame) => void>()
        const held: (() => void)[] = []
        return {
          channel: tapChannel({
            page: (frame, rows, deliver) => {
              const place = `${frame.ordinal}/${frame.layer}`
              if (tenantOf(frame.requestId) === 'A') {
                copies.set(place, ({ lease }) => deliver({ ...frame, lease }, rows))
                pages.A.set(place, () => deliver(frame, rows))
              } else {
                pages.B.set(place, () => {
                  copies.get(place)?.(frame)
                  deliver(frame, rows)
                })
              }
            },
            manifest: (frame, deliver) => {
              held.push(() => deliver(frame))
              if (held.length < 2) return
              for (const send of [...pages.A.values(), ...pages.B.values(), ...held]) send()
            },
          }),
        }
      },
    })
    const other = rig.ask(cast.a)
    const outcome = readByB(rig, cast, await rig.ask(cast.b))
    await other
    return outcome
  },
}
