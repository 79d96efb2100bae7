import type { Fault } from './fault.ts'
import { probeCache } from './play.ts'

/**
 * F133, F135: cached prefixes are found by their tokens alone, whoever computed them. B sends what it guesses A to have sent:
 * where it guesses right its prompt is answered sooner, since most of it need not be computed.
 */
export const keyWithoutTenant: Fault = {
  name: 'cache-key-without-tenant',
  class: 'J',
  harm: 'timing',
  reports: ['F133', 'F135'],
  summary:
    'cached prefixes are found by tokens alone: a guess at another tenant\u2019s prompt can be told by its speed',
  rules: ['R9'],
  play: async (bench) => {
    const rig = await bench.open({ prefixCache: {} })
    const cast = bench.cast()
    return probeCache(rig, cast, 'R9', {
      right: () => rig.ask({ ...cast.a, tenant: 'B' }),
      wrong: () => rig.ask(cast.b),
    })
  },
}
