import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { gate, tapDecode } from './seams.ts'

/**
 * F089, F090: the rows of a batch are counted wrongly when its results are read, and one request's token is given to all.
 */
export const rowMixUp: Fault = {
  name: 'rows-of-a-batch-mixed-up',
  class: 'F',
  harm: 'leak',
  reports: ['F089', 'F090'],
  summary: 'results are read from the wrong row of a batch, and one request\u2019s token is given to another',
  rules: ['R10'],
  play: async (bench) => {
    const cast = bench.cast()
    const started = gate()
    const running = gate()
    let armed = 0
    const rig = await bench.open({
      sizes: { decode: 512 },
      sabotage: ({ tenantOf }) => ({
        // A step of A's first request is kept running until both are armed, so that they begin in the same batch.
        beforePass: async (role) => {
          if (role !== 'decode') return
          started.open()
          await running.opened
        },
        decode: tapDecode((machine, event) => {
          const effects = machine.step(event)
          for (const effect of effects) if (effect.kind === 'send' && effect.message.kind === 'armed') armed++
          if (armed === 3) running.open()
          return effects
        }),
        result: (role, result) => {
          const ofA = result.results.find(({ requestId }) => tenantOf(requestId) === 'A')
          if (role === 'prefill' || ofA === undefined) return result
          return { ...result, results: result.results.map(() => ofA) }
        },
      }),
    })
    const first = rig.ask(cast.a, { maxTokens: 1 })
    await started.opened
    const others = [rig.ask(cast.a), rig.ask(cast.b)] as const
    const outcome = readByB(rig, cast, await others[1])
    await Promise.all([first, ...others])
    return outcome
  },
}
