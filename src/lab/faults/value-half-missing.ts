import { CODE_LENGTH } from './cast.ts'
import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapDecode } from './seams.ts'

/**
 * F068, F071: keys and values of a page are two transfers, and only the keys arrive. Attention finds places by what B said and
 * reads what A said there. B's own characters lead it astray after the first of A's, so B asks again and again, each time
 * with what it has learnt put in the place of its own code.
 */
export const valueHalfMissing: Fault = {
  name: 'value-half-missing',
  class: 'D',
  harm: 'leak',
  reports: ['F068', 'F071'],
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
    let { b } = cast
    for (let learnt = 0; ; ) {
      const reply = await rig.ask(b)
      const answer = reply.texts[0] ?? ''
      learnt++
      if (learnt === CODE_LENGTH || answer === b.code) return readByB(rig, { ...cast, b }, reply)
      const code = answer.slice(0, learnt) + b.code.slice(learnt)
      b = { ...b, code, prompt: b.prompt.replace(b.code, code) }
    }
  },
}
