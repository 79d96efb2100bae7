import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'
import { storesLastRow, tapPrefill } from './seams.ts'

/** What prefill came back with: four pages instead of sixteen. */
const SHRUNK = 64

/**
 * F007 after a restart: other settings, or less memory, and prefill comes back with a smaller pool. Whoever admits requests
 * has asked once, at the beginning, and goes on with the old number.
 */
export const poolShrunk: Fault = {
  name: 'pool-shrunk-by-restart',
  class: 'A2',
  harm: 'leak',
  reports: ['F006', 'F007'],
  summary: 'prefill restarts with a smaller pool and computes what fits; requests are admitted as before',
  rules: ['R2', 'R4', 'R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast({ at: 6 })
    let restarted = false
    const rig = await bench.open({
      sabotage: () => ({
        plan: storesLastRow(bench.guards),
        prefill: tapPrefill((machine, event) => {
          const effects = machine.step(event)
          if (!restarted) return effects
          return effects.flatMap((effect) => {
            // The page is not sent, but its reader has let go of it.
            if (effect.kind === 'send_page' && effect.frame.ordinal * 16 >= SHRUNK)
              return machine.step({ kind: 'page_sent', id: effect.id, now: event.now })
            if (effect.kind === 'send_manifest')
              return [{ ...effect, frame: { ...effect.frame, pages: SHRUNK / 16, rows: SHRUNK } }]
            return [effect]
          })
        }),
      }),
    })
    await serveA(rig, cast)
    restarted = true
    if (bench.guards.has('R2')) rig.believe({ prefill: SHRUNK })
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
