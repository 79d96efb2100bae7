import type { PoolKernels } from '../../kernels/index.ts'
import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'

/**
 * F118: cached pages are moved out of the pool and back, and come back in the place of others: whole blocks, with all
 * that says whose they are. B repeats its prompt, finds its own pages in the cache, and A's rows in them.
 */
export const wrongBlock: Fault = {
  name: 'cached-pages-restored-to-wrong-blocks',
  class: 'H',
  harm: 'leak',
  reports: ['F118'],
  summary: 'cached pages of one tenant are restored into the blocks of another\u2019s',
  rules: ['R5', 'R8'],
  play: async (bench) => {
    const cast = bench.cast()
    const cached: { readonly page: number; readonly owner: number; readonly generation: number }[] = []
    let pool: PoolKernels | null = null
    const rig = await bench.open({
      prefixCache: {},
      sabotage: () => ({
        kernels: (role, user, kernels) => {
          if (role === 'decode' || user === 'pass') return kernels
          pool = kernels
          return {
            ...kernels,
            // Pages change hands with their rows only when they are published.
            retag: (pages, owners, generations, ordinals) => {
              cached.push({ page: pages[0]!, owner: owners[0]!, generation: generations[0]! })
              kernels.retag(pages, owners, generations, ordinals)
            },
          }
        },
      }),
    })
    await serveA(rig, cast)
    const pagesOfA = cached.splice(0)
    await rig.ask(cast.b)
    await rig.settled()
    for (const [ordinal, from] of pagesOfA.entries()) {
      const to = cached[ordinal]!.page
      pool!.copyRows(from.page, to, 16)
      const block = [to, from.owner, from.generation, ordinal].map((word) => Uint32Array.of(word))
      pool!.retag(block[0]!, block[1]!, block[2]!, block[3]!)
    }
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
