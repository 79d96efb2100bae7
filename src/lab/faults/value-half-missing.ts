import type { PoolKernels } from '../../kernels/index.ts'
import { CODE_LENGTH } from './cast.ts'
import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapPrefill } from './seams.ts'

/**
 * F068, F071: keys and values of a page are two one-sided writes, and only the keys arrive. Attention finds places by what B
 * said and reads what A said there. B's own characters lead it astray after the first of A's, so B asks again and again, each
 * time with what it has learnt put in the place of its own code.
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
      transport: 'shared',
      sabotage: ({ tenantOf }) => {
        let pool: PoolKernels | null = null
        const pagesOfB = new Set<number>()
        return {
          kernels: (role, user, kernels) => {
            if (role === 'decode' && user === 'worker') pool = kernels
            return kernels
          },
          prefill: tapPrefill((machine, event) => {
            const effects = machine.step(event)
            for (const effect of effects)
              if (effect.kind === 'send_page' && tenantOf(effect.frame.requestId) === 'B')
                pagesOfB.add(effect.target!.page)
            return effects
          }),
          neighbour: (neighbour) => ({
            ...neighbour,
            storeRows: (from, layer, rows, to) => {
              if (!pagesOfB.has(to)) return neighbour.storeRows(from, layer, rows, to)
              const before = new Uint8Array(pool!.rowBytes(rows))
              const half = new Uint8Array(before.length)
              pool!.readRows(to, layer, rows, before)
              neighbour.storeRows(from, layer, rows, to)
              pool!.readRows(to, layer, rows, half)
              half.set(before.subarray(before.length / 2), before.length / 2)
              pool!.writeRows(to, layer, rows, half)
            },
          }),
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
