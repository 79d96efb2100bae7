export { createPool } from './create-pool.ts'
export type { KernelsErrorCode, KernelsErrorDetails } from './errors.ts'
export { KernelsError } from './errors.ts'
export { kvBytesPerToken, LANES, largestPool, poolBytes } from './layout.ts'
export { openPool } from './open-pool.ts'
export type {
  AttentionFault,
  AttentionSequence,
  FaultKind,
  KernelChecks,
  KernelPageTable,
  KernelRotary,
  KernelShape,
  PoolKernels,
  PoolMemory,
  PoolOptions,
} from './types.ts'
