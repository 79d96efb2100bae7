export type { OwnerId, PageTable, PoolShape } from './types.ts'
