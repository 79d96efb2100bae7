import type { PoolLayout } from './layout.ts'
import type { KernelExports } from './module.ts'
import type { PoolMemory } from './types.ts'

/** Everything an instance must be told, as plain values: a helper thread gets them by message. */
export interface InstanceSettings {
  readonly configure: Parameters<KernelExports['configure']>
  readonly useScratch: Parameters<KernelExports['useScratch']>
}

export const laneAt = (layout: PoolLayout, lane: number): number => layout.lanes + lane * layout.lane.bytes

export function instanceSettings(
  pool: PoolMemory,
  layout: PoolLayout,
  lane: number,
  ropeFloats: number,
): InstanceSettings {
  const { pages, pageSize, layers, heads, kvHeads, headDim } = pool.shape
  const { tags, filled, blocks } = layout
  const queryScale = Math.LOG2E / Math.sqrt(headDim)
  return {
    configure: [
      pages,
      pageSize,
      layers,
      heads,
      kvHeads,
      headDim,
      tags,
      filled,
      blocks,
      pool.key[0]!,
      pool.key[1]!,
      ropeFloats,
      queryScale,
    ],
    useScratch: [laneAt(layout, lane) + layout.lane.scratch, layout.lane.queries],
  }
}
