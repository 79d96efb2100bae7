import { openPool, type PoolMemory } from '../../kernels/index.ts'

const LANE = 0

/**
 * Makes the first `pages` pages nobody's, whatever the life before left in the pool: tags, filled rows and guard rows cleared, and
 * the rows too where `scrub` says so. No thread of that life may be left. The drills' pages, which follow, are not touched: the new
 * life's forward thread may be drilling on them already, and a drill claims anew what it works on.
 */
export const retireAll = (pool: PoolMemory, pages: number, scrub: 'tags' | 'zero' | 'poison'): void => {
  const checks = { tags: true, filled: true, guards: true }
  const kernels = openPool(pool, { lane: LANE, checks, ropeTheta: 1, ropeDims: 0 })
  // To touch a page that nobody had is to take memory from the system for it. Where rows are overwritten, an end in the middle of
  // that leaves a page without an owner, but with a generation.
  const standing = (page: number): boolean => {
    const { owner, generation } = kernels.tag(page)
    return owner !== 0 || (scrub !== 'tags' && generation !== 0)
  }
  kernels.retire(Uint32Array.from({ length: pages }, (_, page) => page).filter(standing), scrub)
}
