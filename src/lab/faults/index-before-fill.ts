import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapPrefill } from './seams.ts'
import { busyPrefill } from './unfilled.ts'

/**
 * F109, F114: pages are in the prefix cache from the moment they are allocated. The attempt that was to fill them fails
 * before it begins, their entries stay, and the second attempt finds its whole prompt cached.
 */
export const indexBeforeFill: Fault = {
  name: 'index-before-fill',
  class: 'H',
  harm: 'leak',
  reports: ['F109', 'F114'],
  summary: 'pages are cached before they are filled; when that fails, the next attempt reads them as they are',
  rules: ['R5', 'R11'],
  play: async (bench) => {
    const cast = bench.cast()
    const { rig, finish } = await busyPrefill(bench, cast, ({ tenantOf }) => {
      let failed = false
      return {
        prefill: tapPrefill((machine, event) => {
          const effects = machine.step(event)
          const ofB =
            event.kind === 'message' && event.message.kind === 'prefill' && tenantOf(event.message.requestId) === 'B'
          if (!ofB || failed) return effects
          failed = true
          // The channel goes and comes again; whoever still had something to send begins anew.
          const cut = (['link_down', 'link_up'] as const).flatMap((kind) => machine.step({ kind, now: event.now }))
          const told = cut.filter((effect) => effect.kind !== 'send' || effect.message.kind !== 'channel')
          return [...effects, ...told]
        }),
      }
    })
    const reply = rig.ask(cast.b)
    await rig.quiet()
    await finish()
    return readByB(rig, cast, await reply)
  },
}
