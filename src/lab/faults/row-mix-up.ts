import type { SequenceResult } from '../../model/index.ts'
import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { gate, tapDecode } from './seams.ts'

/**
 * F089, F090: two rows of a batch change places between the plan and its result. Each request is given the other's tokens.
 */
export const rowMixUp: Fault = {
  name: 'rows-of-a-batch-mixed-up',
  class: 'F',
  harm: 'leak',
  reports: ['F089', 'F090'],
  summary: 'two rows of a batch change places, and each request is given the other\u2019s tokens',
  rules: ['R10'],
  play: async (bench) => {
    const cast = bench.cast()
    const started = gate()
    const running = gate()
    let armed = 0
    const rig = await bench.open({
      sabotage: () => ({
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
        result: (role, result) =>
          role === 'prefill' || result.results.length !== 2
            ? result
            : { ...result, results: [...result.results].reverse() as readonly SequenceResult[] },
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
