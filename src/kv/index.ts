export type { HolderCounts, PageFences } from './fences.ts'
export { fullPageFences } from './fences.ts'
export type { OwnerId, PageTable, PoolShape } from './types.ts'
