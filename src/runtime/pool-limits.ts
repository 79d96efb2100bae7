import { jointLayout, KernelsError, largestPair, largestPool } from '../kernels/index.ts'
import { type ModelShape, poolShape } from '../model/index.ts'
import { DRILL_PAGES, withDrillPages } from './drills/index.ts'
import type { EngineTransport } from './transport.ts'

export interface WantedPools {
  readonly shape: ModelShape
  /** In tokens. */
  readonly prefillPool: number
  readonly decodePool: number
  readonly pageSize: number
  readonly transport: EngineTransport
}

/**
 * Why these pools cannot be addressed, as a line that says what can; null if they can. Over `shared` both stand in one memory and
 * are judged together. Whether the machine has so much memory is another matter.
 */
export const poolProblem = ({ shape, prefillPool, decodePool, pageSize, transport }: WantedPools): string | null => {
  const geometry = poolShape(shape, 0, pageSize)
  const most = (pages: number): number => Math.max(0, pages - DRILL_PAGES) * pageSize
  const pools = { prefill_pool: prefillPool, decode_pool: decodePool }
  for (const [name, tokens] of Object.entries(pools)) {
    const limit = most(largestPool(geometry))
    if (tokens > limit) return `${name} ${tokens} is above the ${limit} tokens that 32-bit addresses reach`
  }
  if (transport !== 'shared') return null
  const shapes = Object.values(pools).map((tokens) => withDrillPages(poolShape(shape, tokens, pageSize)))
  try {
    jointLayout(shapes)
    return null
  } catch (error) {
    if (!(error instanceof KernelsError)) throw error
    const each = most(largestPair(geometry))
    return `prefill_pool ${prefillPool} and decode_pool ${decodePool} do not fit the one memory that transport: shared gives them; two of ${each} tokens do`
  }
}
