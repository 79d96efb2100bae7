import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapChannel } from './seams.ts'

/**
 * F066: pages travel layer by layer, and decode begins when the first layer is there. It attends to the last layer's
 * pages as they were left by whoever had them before.
 */
export const layerNotReady: Fault = {
  name: 'read-before-layer-is-ready',
  class: 'D',
  harm: 'leak',
  reports: ['F066'],
  summary: 'decode begins when the first layer has arrived; the last one still holds what was there before',
  rules: ['R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        const late: (() => void)[] = []
        return {
          channel: tapChannel({
            page: (frame, rows, deliver) => {
              const held = tenantOf(frame.requestId) === 'B' && frame.layer > 0
              if (held) late.push(() => deliver(frame, rows))
              else deliver(frame, rows)
            },
            manifest: (frame, deliver) => {
              deliver(frame)
              for (const frameAfter of late.splice(0)) frameAfter()
            },
          }),
        }
      },
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
