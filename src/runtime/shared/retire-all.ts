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
  // Where rows stay as they are, a page without a tag is nobody's already; to touch it is to take memory from the system for it.
  // Where they do not, an end in the middle of a scrub may have left some in a page without a tag.
  const standing = (page: number): boolean => scrub !== 'tags' || kernels.tag(page).owner !== 0
  kernels.retire(Uint32Array.from({ length: pages }, (_, page) => page).filter(standing), scrub)
}
