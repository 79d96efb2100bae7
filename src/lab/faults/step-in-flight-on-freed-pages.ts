import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { gate, tapDecode } from './seams.ts'

/** The step computes the prompt's last rows again and stores them, from the page that this row begins. */
const FROM_ROW = 64

/**
 * F047, F048: a request is aborted while a step that was already started writes its pages. They are handed on at once; the
 * step runs to its end and writes into what are the next request's pages by then.
 */
export const stepInFlight: Fault = {
  name: 'step-in-flight-on-freed-pages',
  class: 'B4',
  harm: 'leak',
  reports: ['F047', 'F048'],
  summary: 'pages of an aborted request are handed on while the step in flight still writes them',
  rules: ['R5', 'R6'],
  bookkeeping: ['R7'],
  play: async (bench) => {
    const cast = bench.cast({ at: 6 })
    const started = gate()
    const running = gate()
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        let idsOfA = new Int32Array(0)
        const isOfA = (plan: { readonly sequences: readonly { readonly requestId: string }[] }): boolean =>
          plan.sequences.some(({ requestId }) => tenantOf(requestId) === 'A')
        return {
          toDecode: (message) => {
            if (message.kind === 'reserve' && tenantOf(message.requestId) === 'A') idsOfA = Int32Array.from(message.ids)
            return message
          },
          beforePass: async (role, plan) => {
            if (role !== 'decode' || !isOfA(plan)) return
            started.open()
            await running.opened
          },
          plan: (role, plan) =>
            role !== 'decode' || !isOfA(plan)
              ? plan
              : {
                  ...plan,
                  sequences: plan.sequences.map((sequence) => ({
                    ...sequence,
                    write: 'append' as const,
                    start: FROM_ROW,
                    tokens: idsOfA.subarray(FROM_ROW),
                  })),
                },
          decode: tapDecode((machine, event) => {
            const effects = machine.step(event)
            const armed = effects.some((effect) => effect.kind === 'send' && effect.message.kind === 'armed')
            if (armed && event.kind === 'manifest' && tenantOf(event.frame.requestId) === 'B') running.open()
            return effects
          }),
        }
      },
    })
    const first = rig.begin(cast.a, { maxTokens: 24 })
    await started.opened
    first.abort()
    await first.reply
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
