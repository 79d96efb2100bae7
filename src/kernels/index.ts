export type { AttentionFault, AttentionSequence, FaultKind, KernelChecks, KernelPageTable, KernelShape, PoolKernels, PoolMemory } from './types.ts'
