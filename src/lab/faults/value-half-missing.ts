import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapDecode } from './seams.ts'

/**
 * F064, F071: keys and values of a page are two transfers, and only the keys arrive. Attention finds B's own places and reads
 * what stood there before.
 */
export const valueHalfMissing: Fault = {
  name: 'value-half-missing',
  class: 'D',
  harm: 'leak',
  reports: ['F064', 'F071'],
  summary: 'of every page only the keys are delivered; the values are the previous owner\u2019s',
  rules: ['R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        let placingForB = false
        return {
          decode: tapDecode((machine, event) => {
            placingForB = event.kind === 'page_frame' && tenantOf(event.frame.requestId) === 'B'
            return machine.step(event)
          }),
          kernels: (role, user, kernels) =>
            role === 'prefill' || user === 'pass'
              ? kernels
              : {
                  ...kernels,
                  writeRows: (page, layer, rows, from) => {
                    if (!placingForB) return kernels.writeRows(page, layer, rows, from)
                    const half = new Uint8Array(from.length)
                    kernels.readRows(page, layer, rows, half)
                    half.set(from.subarray(0, from.length / 2))
                    kernels.writeRows(page, layer, rows, half)
                  },
                },
        }
      },
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
