import type { PageFrame } from '../../cluster/index.ts'
import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapChannel } from './seams.ts'

/**
 * F040, F044: pages go out by way of staging buffers, one for each place, and a buffer is used again before its last page has
 * left. B's frames go out with the bytes that A's pages have put there since.
 */
export const stagingBuffer: Fault = {
  name: 'staging-buffer-reused',
  class: 'B3',
  harm: 'leak',
  reports: ['F040', 'F044'],
  summary: 'a staging buffer takes the next request\u2019s page before the one in it has left',
  rules: ['R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        const staged = new Map<string, Uint8Array>()
        const waiting = new Map<string, { readonly frame: PageFrame; readonly send: (rows: Uint8Array) => void }>()
        const held: (() => void)[] = []
        const onceAllLeft = (): void => {
          if (waiting.size === 0) for (const send of held.splice(0)) send()
        }
        return {
          channel: tapChannel({
            page: (frame, rows, deliver) => {
              const place = `${frame.ordinal}/${frame.layer}`
              staged.set(place, rows)
              if (tenantOf(frame.requestId) === 'B') {
                // The line is slow: it leaves when the next page is put in its place.
                waiting.set(place, { frame, send: (bytes) => deliver(frame, bytes) })
                return
              }
              const before = waiting.get(place)
              waiting.delete(place)
              before?.send(staged.get(place)!)
              deliver(frame, rows)
              onceAllLeft()
            },
            manifest: (frame, deliver) => {
              held.push(() => deliver(frame))
              onceAllLeft()
            },
          }),
        }
      },
    })
    const reply = rig.ask(cast.b)
    const other = rig.ask(cast.a)
    const outcome = readByB(rig, cast, await reply)
    await other
    return outcome
  },
}
