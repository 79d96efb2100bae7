import { openPool, type PoolMemory } from '../../kernels/index.ts'

const LANE = 0

/**
 * Makes every page nobody's, whatever the life before left in the pool: tags, filled rows and guard rows cleared, and the rows
 * too where `scrub` says so. No thread of that life may be left.
 */
export const retireAll = (pool: PoolMemory, scrub: 'tags' | 'zero' | 'poison'): void => {
  const checks = { tags: true, filled: true, guards: true }
  const kernels = openPool(pool, { lane: LANE, checks, ropeTheta: 1, ropeDims: 0 })
  kernels.retire(
    Uint32Array.from({ length: pool.shape.pages }, (_, page) => page),
    scrub,
  )
}
