import type { WorkerOptions } from '../../cluster/index.ts'
import type { DigestTools, Random } from '../../host/index.ts'
import type { NeighbourPool, PoolKernels } from '../../kernels/index.ts'
import type { LinkParty } from '../transfer/index.ts'
import type { DrillFinding } from './detectors.ts'
import { drillGuardSweep } from './guard-drill.ts'
import { ledgerDrills } from './ledger-drills.ts'
import { drillPages } from './pages.ts'
import { transferDrills } from './transfer-drills.ts'
import { drillWire } from './wire-drills.ts'

export interface WorkerDrillOptions {
  readonly worker: WorkerOptions
  readonly kernels: PoolKernels
  /** Transport `shared`: stores from this worker's pool into itself. */
  readonly itself?: NeighbourPool
  readonly own: LinkParty
  readonly linkKey: Uint8Array
  readonly digests: DigestTools
  readonly random: Random
  readonly integrity: 'full' | 'tags'
}

/**
 * The drills of every detector of a worker's main thread, on the values and kernels that serve its requests: each is one
 * call of a few milliseconds at most, so that a running worker can do something else in between.
 */
export const workerDrills = (options: WorkerDrillOptions): readonly (() => DrillFinding)[] => {
  const { worker, kernels, itself } = options
  const pages = drillPages(worker.shape)
  const rehearsal = {
    worker,
    kernels,
    ...(itself && { itself }),
    prefillPage: pages.prefill,
    decodePage: pages.decode,
  }
  return [
    ...transferDrills(rehearsal, options.integrity),
    ...ledgerDrills(worker.fences.pages),
    () => drillGuardSweep(kernels, pages.sweep),
    ...(worker.transport === 'shared' ? [] : [() => drillWire(options)]),
  ]
}
