import type { DecodeEffect } from '../../cluster/index.ts'
import type { Fault } from './fault.ts'
import { answerOf, statusLine } from './play.ts'
import { tapDecode } from './seams.ts'

/**
 * F016, F022: a transfer fails, and whoever notes that it is over writes "length" over the failure. What B gets is a success
 * with nothing in it. The rule is that the first ending stands; the leaky variant lets the last one stand.
 */
export const errorOverwritten: Fault = {
  name: 'error-overwritten-by-length',
  class: 'A4',
  harm: 'wrong_status',
  reports: ['F016', 'F022'],
  summary: 'a failed transfer is noted as finished by length: HTTP 200 with an empty answer',
  rules: ['R12'],
  play: async (bench) => {
    const { b } = bench.cast()
    const lastWordStands = !bench.guards.has('R12')
    let failed = false
    const rig = await bench.open({
      sabotage: () => ({
        decode: tapDecode((machine, event) => {
          if (event.kind !== 'manifest' || failed) return machine.step(event)
          failed = true
          return machine.step({ kind: 'link_down', now: event.now }).flatMap((effect): DecodeEffect[] => {
            // The channel is up again before anybody asks.
            if (effect.kind === 'send' && effect.message.kind === 'channel') return []
            if (effect.kind !== 'send' || effect.message.kind !== 'failed') return [effect]
            const { requestId, attempt } = effect.message
            const finished: DecodeEffect[] = [
              { kind: 'send', message: { kind: 'armed', requestId, attempt } },
              { kind: 'send', message: { kind: 'finished', requestId, attempt, sequence: 0, reason: 'length' } },
            ]
            return lastWordStands ? finished : [effect, ...finished]
          })
        }),
      }),
    })
    const reply = await rig.ask(b)
    const own = reply.texts[0]?.includes(b.code) === true
    return {
      ending: own ? 'own' : reply.status === 200 ? 'harmed' : 'refused',
      outcome: statusLine(reply, own ? 'own code' : 'no answer'),
      sample: `the transfer failed; B was answered HTTP ${reply.status}, ${reply.finishReasons[0] ?? 'no'}: ${answerOf(reply)}`,
      caughtBy: null,
    }
  },
}
