import type { PoolLayout } from './layout.ts'
import type { KernelShape } from './types.ts'

/**
 * The first of a table's pages that holds NaN or infinity in this layer, among the first `rows` rows of the table; -1 if none
 * does: finite numbers can be wild enough for a sum that is not. Off the path of everything but a fault.
 */
export const pageNotFinite = (
  { pages, pageSize, kvHeads, headDim }: KernelShape,
  layout: PoolLayout,
  floats: Float32Array,
  layer: number,
  table: Uint32Array,
  rows: number,
): number => {
  const holds = (page: number, count: number): boolean => {
    const block = (layout.blocks + (layer * pages + page) * layout.blockBytes) / 4
    for (let part = 0; part < 2 * kvHeads; part++) {
      const from = block + part * pageSize * headDim
      if (!floats.subarray(from, from + count * headDim).every(Number.isFinite)) return true
    }
    return false
  }
  for (let ordinal = 0; ordinal * pageSize < rows; ordinal++) {
    const page = table[ordinal]!
    if (page < pages && holds(page, Math.min(pageSize, rows - ordinal * pageSize))) return page
  }
  return -1
}
