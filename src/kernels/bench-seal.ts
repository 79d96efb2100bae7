import { createPool } from './create-pool.ts'
import { openPool } from './open-pool.ts'

export interface SealSpeed {
  readonly pageBytes: number
  /** Pages in turn: few enough to stay in the cache, as those that were just written or received, or too many. */
  readonly from: 'cache' | 'memory'
  /** 10^9 bytes per second on one thread, medians of interleaved rounds. */
  readonly sealGBs: number
  readonly copyGBs: number
}

export interface SealBenchOptions {
  /** Monotonic clock in milliseconds. */
  readonly now: () => number
  /** Rounds of each kind; default 101. */
  readonly rounds?: number
}

/** Two KV heads of 64 in pages of 16 rows: 16 KB of K and V a layer. */
const SHAPE = { pageSize: 16, layers: 1, heads: 2, kvHeads: 2, headDim: 64 }
const ROUNDS = 101
const CACHED_PAGES = 32
/** More than caches of today hold. */
const UNCACHED_PAGES = 8_192
const AT_A_TIME = 256

/** Speed of seals over 16 KB pages, call by call as a worker makes them, beside plain copies of the same bytes. */
export function benchSeals({ now, rounds = ROUNDS }: SealBenchOptions): readonly SealSpeed[] {
  const pool = createPool({ ...SHAPE, pages: UNCACHED_PAGES }, BigUint64Array.of(1n, 2n))
  const kernels = openPool(pool, {
    lane: 0,
    checks: { tags: true, filled: true, guards: true },
    ropeTheta: 10_000,
    ropeDims: 64,
  })
  const pageBytes = kernels.rowBytes(SHAPE.pageSize)
  const rows = new Uint8Array(pageBytes).map((_, i) => i % 251)
  for (let page = 0; page < UNCACHED_PAGES; page++) kernels.writeRows(page, 0, SHAPE.pageSize, rows)
  const lineage = new Uint8Array(32).fill(5)
  const into = new Uint8Array(pageBytes)

  const measure = (from: SealSpeed['from'], pages: number): SealSpeed => {
    const timed = (first: number, call: (page: number) => void): number => {
      const start = now()
      for (let i = 0; i < AT_A_TIME; i++) call((first + i) % pages)
      return (AT_A_TIME * pageBytes) / (now() - start) / 1e6
    }
    const seals: number[] = []
    const copies: number[] = []
    for (let round = 0; round < rounds; round++) {
      // Neither runs over what the other has just brought into the cache.
      const first = 2 * round * AT_A_TIME
      seals.push(timed(first, (page) => kernels.seal(page, 0, SHAPE.pageSize, lineage)))
      copies.push(timed(first + AT_A_TIME, (page) => kernels.readRows(page, 0, SHAPE.pageSize, into)))
    }
    return { pageBytes, from, sealGBs: median(seals), copyGBs: median(copies) }
  }
  return [measure('cache', CACHED_PAGES), measure('memory', UNCACHED_PAGES)]
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!
}
