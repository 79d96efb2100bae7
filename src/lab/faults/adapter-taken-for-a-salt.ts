import type { Fault } from './fault.ts'
import { probeCache } from './play.ts'
import type { Reply } from './rig.ts'

/** The name of A's adapter; B writes it where a salt belongs. */
const NAME = 'finance-7'
const ANOTHER = 'finance-8'

/**
 * F100: an adapter's name and a client's salt go into the same place of a cache key. B cannot use A's adapter, but names it as
 * its salt, and is in the adapter's part of the cache.
 */
export const adapterAsSalt: Fault = {
  name: 'adapter-taken-for-a-salt',
  class: 'G',
  harm: 'timing',
  reports: ['F100', 'F102'],
  summary: 'a client\u2019s salt that spells an adapter\u2019s name opens what was cached under the adapter',
  rules: ['R9'],
  play: async (bench) => {
    let salt = NAME
    const rig = await bench.open({
      prefixCache: {
        selectors: ({ tenant }) =>
          tenant === 'A'
            ? { adapter: { kind: 'adapter', id: NAME }, salt: { kind: 'none' } }
            : { adapter: { kind: 'none' }, salt: { kind: 'salt', value: salt } },
      },
    })
    const cast = bench.cast()
    const askAs = (name: string): Promise<Reply> => {
      salt = name
      return rig.ask({ ...cast.a, tenant: 'B' })
    }
    return probeCache(rig, cast, 'R9', { right: () => askAs(NAME), wrong: () => askAs(ANOTHER) })
  },
}
