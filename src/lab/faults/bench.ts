import { sample } from '../../engine/index.ts'
import type { Timers } from '../../host/index.ts'
import { createPool, type PoolKernels } from '../../kernels/index.ts'
import { type ForwardPass, loadModel, poolShape } from '../../model/index.ts'
import type { FenceRule } from '../partial-fences.ts'
import type { StageHost, StageModel } from '../two-tenants.ts'
import { type Cast, type CastOptions, castTenants, PAGE_SIZE } from './cast.ts'
import { openRig, type Rig, type RigOptions } from './rig.ts'
import type { Guards } from './rules.ts'

export interface LabHost extends StageHost {
  readonly timers: Timers
}

/** The `recall` model with its weights in memory, for as many engines as are wanted. */
export interface Workshop {
  readonly model: StageModel
  readonly host: LabHost
  readonly pass: (kernels: PoolKernels, pageSize: number) => ForwardPass
  close(): Promise<void>
}

/** Loads the weights once; every engine of every play uses them. Throws where the file cannot be used. */
export async function openWorkshop(model: StageModel, host: LabHost): Promise<Workshop> {
  const { weights, shape, digest } = model.file
  const smallest = createPool(poolShape(shape, PAGE_SIZE, PAGE_SIZE), new BigUint64Array(2), new Uint8Array(32))
  const loaded = await loadModel(weights, {
    threads: 1,
    sampler: sample,
    pool: smallest,
    checks: { tags: true, filled: true, guards: true },
    expectDigest: digest,
  })
  if (loaded.kind !== 'ok') throw new Error(loaded.message)
  return { model, host, pass: loaded.over, close: () => loaded.pass.close() }
}

/** What one play of one fault has at hand: engines of its making, with the guards that are set. */
export interface Bench {
  readonly guards: Guards
  cast(options?: CastOptions): Cast
  open(options: Omit<RigOptions, 'guards' | 'bookkeeping'>): Promise<Rig>
  sha256(data: Uint8Array): Uint8Array
}

export function bench(
  workshop: Workshop,
  guards: Guards,
  bookkeeping: readonly FenceRule[],
): Bench & { close(): Promise<void> } {
  const rigs: Rig[] = []
  return {
    guards,
    cast: (options) => castTenants((n) => workshop.host.random.uint32() % n, options),
    open: async (options) => {
      const rig = await openRig(workshop, { ...options, guards, bookkeeping })
      rigs.push(rig)
      return rig
    },
    sha256: workshop.host.sha256,
    close: async () => {
      for (const rig of rigs) await rig.close()
    },
  }
}
