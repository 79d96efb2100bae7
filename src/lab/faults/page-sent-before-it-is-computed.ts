import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { tapPrefill } from './seams.ts'

/**
 * F040, F066, the sender's side: a layer is reported done when its computation is started, and its pages go out before they are
 * written. They are sealed as they are sent, so the seal vouches for what was there before.
 */
export const pageSentBeforeItIsComputed: Fault = {
  name: 'page-sent-before-it-is-computed',
  class: 'D',
  harm: 'leak',
  reports: ['F040', 'F066'],
  summary: 'layers are reported done when they are started, and pages are sent as they were',
  rules: ['R5'],
  play: async (bench) => {
    const cast = bench.cast()
    const layers = [0, 1]
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => ({
        prefill: tapPrefill((machine, event) =>
          machine.step(event).flatMap((effect) => {
            const ofB = effect.kind === 'forward' && tenantOf(effect.plan.sequences[0]?.requestId ?? '') === 'B'
            if (!ofB) return [effect]
            const planId = effect.plan.id
            const early = layers.flatMap((layer) => machine.step({ kind: 'layer_done', planId, layer, now: event.now }))
            return [effect, ...early]
          }),
        ),
      }),
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
