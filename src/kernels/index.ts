export type { AttentionSpeed, KernelBenchOptions, KernelSpeeds } from './bench.ts'
export { benchKernels } from './bench.ts'
export { benchSeals, type SealBenchOptions, type SealSpeed } from './bench-seal.ts'
export { createPool, createPools, type PoolRequest } from './create-pool.ts'
export type { AttentionCrew, CrewOptions } from './crew.ts'
export { startCrew } from './crew.ts'
export type { KernelsErrorCode, KernelsErrorDetails } from './errors.ts'
export { KernelsError } from './errors.ts'
export { type JointLayout, jointLayout, kvBytesPerToken, LANES, largestPair, largestPool, poolBytes } from './layout.ts'
export { openNeighbour } from './neighbour.ts'
export { openPool } from './open-pool.ts'
export type {
  AttentionFault,
  AttentionSequence,
  FaultKind,
  KernelChecks,
  KernelPageTable,
  KernelRotary,
  KernelShape,
  NeighbourPool,
  PoolKernels,
  PoolMemory,
  PoolOptions,
} from './types.ts'
