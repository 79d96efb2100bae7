import type { Bench } from './bench.ts'
import type { Cast } from './cast.ts'
import { serveA } from './play.ts'
import type { Rig } from './rig.ts'
import type { Sabotage, Wire } from './sabotage.ts'
import { gate } from './seams.ts'

/**
 * A rig with a prefix cache whose prefill is in the middle of a pass, so that the next request waits with its pages allocated
 * and nothing computed. A was served before; its pages were not kept, since its tenant has no share in the cache, and they
 * are the ones that are handed out next. `finish` lets the pass end.
 */
export async function busyPrefill(
  bench: Bench,
  cast: Cast,
  sabotage: (wire: Wire) => Sabotage,
): Promise<{ readonly rig: Rig; finish(): Promise<void> }> {
  const started = gate()
  const running = gate()
  let busy = false
  const rig = await bench.open({
    prefixCache: { quotaBytes: new Map([['A', 0]]) },
    sabotage: (wire) => ({
      ...sabotage(wire),
      beforePass: async (role) => {
        if (role !== 'prefill' || !busy) return
        busy = false
        started.open()
        await running.opened
      },
    }),
  })
  await serveA(rig, cast)
  busy = true
  // One page of another request of A's: `code K7=` alone.
  const short = rig.ask({ ...cast.a, prompt: cast.a.prompt.slice(cast.a.prompt.lastIndexOf('code')) }, { maxTokens: 1 })
  await started.opened
  return {
    rig,
    finish: async () => {
      running.open()
      await short
    },
  }
}
