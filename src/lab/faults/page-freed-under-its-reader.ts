import type { PrefillEffect } from '../../cluster/index.ts'
import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapPrefill } from './seams.ts'

/**
 * F034, F035: pages are given back while a transfer still has to read them. The next prompt is computed into them, and goes
 * out under the name of the one before.
 */
export const readerAfterFree: Fault = {
  name: 'page-freed-under-its-reader',
  class: 'B2',
  harm: 'leak',
  reports: ['F034', 'F035'],
  summary: 'prefill gives pages back before they are read out, and computes the next prompt into them',
  rules: ['R5', 'R6'],
  bookkeeping: ['R7'],
  play: async (bench) => {
    const cast = bench.cast()
    const waiting: PrefillEffect[] = []
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => ({
        prefill: tapPrefill((machine, event) => {
          const effects: PrefillEffect[] = []
          let nextIsComputed = false
          for (const effect of machine.step(event)) {
            const outgoing = effect.kind === 'send_page' || effect.kind === 'send_manifest'
            // The line is slow: what B has to send is read when A's prompt has been computed.
            if (outgoing && tenantOf(effect.frame.requestId) === 'B') waiting.push(effect)
            else effects.push(effect)
            nextIsComputed ||= effect.kind === 'send_manifest' && tenantOf(effect.frame.requestId) === 'A'
          }
          return nextIsComputed ? [...effects, ...waiting.splice(0)] : effects
        }),
      }),
    })
    const reply = rig.ask(cast.b)
    await rig.until(() => waiting.some((effect) => effect.kind === 'send_manifest'))
    const other = rig.ask(cast.a)
    const outcome = readByB(rig, cast, await reply)
    await other
    return outcome
  },
}
