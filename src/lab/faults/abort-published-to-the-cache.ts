import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { busyPrefill } from './unfilled.ts'

/**
 * F111: cleaning up after an aborted request puts its pages into the prefix cache as if they had been computed. The next
 * request with the same beginning reads what was in them before.
 */
export const abortPublished: Fault = {
  name: 'abort-published-to-the-cache',
  class: 'H',
  harm: 'leak',
  reports: ['F109', 'F111'],
  summary: 'pages of a request aborted before it was computed are cached, and its repetition reads them',
  rules: ['R5', 'R11'],
  play: async (bench) => {
    const cast = bench.cast()
    const { rig, finish } = await busyPrefill(bench, cast, () => ({}))
    const aborted = rig.begin(cast.b)
    await rig.until(() => rig.pool('prefill').owned > 1)
    aborted.abort()
    await aborted.reply
    await rig.quiet()
    await finish()
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
