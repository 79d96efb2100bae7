import type { PageFrame } from '../../cluster/index.ts'
import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapChannel } from './seams.ts'

/**
 * F102, F105: a store of pages outside the engine finds them by place and layer; whose they are and what was said is not part
 * of the key. B's pages are looked up there while they are computed, and the store is faster.
 */
export const storeKey: Fault = {
  name: 'store-key-without-owner',
  class: 'G',
  harm: 'leak',
  reports: ['F102', 'F105', 'F106'],
  summary: 'an outside store of pages finds them by place alone and answers with another tenant\u2019s',
  rules: ['R8', 'R10'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        const store = new Map<string, { readonly frame: PageFrame; readonly rows: Uint8Array }>()
        return {
          channel: tapChannel({
            page: (frame, rows, deliver) => {
              const key = `${frame.ordinal}/${frame.layer}`
              const found = store.get(key)
              if (found === undefined) store.set(key, { frame, rows })
              else if (tenantOf(frame.requestId) === 'B') deliver({ ...found.frame, lease: frame.lease }, found.rows)
              // Comes second where the store had it; then it is a duplicate.
              deliver(frame, rows)
            },
          }),
        }
      },
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
