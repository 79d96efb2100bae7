import type {
  DecodeToRouter,
  PoolUse,
  PrefillToRouter,
  PrefixCacheOptions,
  RouterToDecode,
  RouterToPrefill,
} from '../../cluster/index.ts'
import type { KernelShape } from '../../kernels/index.ts'
import type { DrillResult } from '../../model/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { DrillFinding } from '../drills/index.ts'
import type { LinkChannel } from '../transfer/index.ts'

export type WorkerRole = 'prefill' | 'decode'

/** Both workers are threads of one process, over one memory: its two pools, so that whichever comes first can make both. */
export interface SharedMemory {
  readonly kind: 'shared'
  readonly shapes: Readonly<Record<WorkerRole, KernelShape>>
}

/** All a worker is told at the beginning of its life. Keys come this way and never by argument or environment. */
export interface WorkerInit {
  readonly role: WorkerRole
  readonly model: string
  readonly weights: string
  /** The file must still have this digest. */
  readonly digest: string
  readonly epoch: number
  readonly shape: KernelShape
  readonly rope: { readonly ropeTheta: number; readonly ropeDims: number }
  readonly threads: number
  readonly integrity: 'full' | 'tags'
  readonly scrub: 'tags' | 'zero' | 'poison'
  readonly sweepEvery: number
  readonly chunkRows: number
  /** Null: off. */
  readonly prefixCache: PrefixCacheOptions | null
  readonly layerBudgetSeconds: number
  readonly maxBatch: number
  /** What prefill and decode speak over. */
  readonly channel: LinkChannel | SharedMemory
  /** Where decode listens, over TCP, as far as is known when this life begins. */
  readonly decodePort: number | null
  readonly keys: { readonly ticket: Uint8Array; readonly link: Uint8Array; readonly seal: Uint8Array }
}

export type ToWorker =
  | { readonly kind: 'init'; readonly init: WorkerInit }
  | { readonly kind: 'message'; readonly message: RouterToDecode | RouterToPrefill }
  | { readonly kind: 'ping'; readonly id: number }
  /** To prefill: where decode listens; null when nothing does. */
  | { readonly kind: 'decode_port'; readonly port: number | null }
  /** Drill every detector; `turn` is new each time and above 0, which is the start-up's. */
  | { readonly kind: 'drill'; readonly turn: number }

export type FromWorker =
  /** What one turn of the machine gave, in order. */
  | {
      readonly kind: 'out'
      readonly messages: readonly (DecodeToRouter | PrefillToRouter)[]
      readonly telemetry: readonly TelemetryEvent[]
    }
  /** At most ten a second. */
  | { readonly kind: 'pool'; readonly use: PoolUse }
  | { readonly kind: 'loaded'; readonly notes: readonly string[]; readonly drill: DrillResult }
  /** Every detector of this worker, once at start before its hello and after each `drill`. */
  | { readonly kind: 'drilled'; readonly findings: readonly DrillFinding[] }
  /** From decode, over TCP: where it listens. */
  | { readonly kind: 'listening'; readonly port: number }
  /** `passMs`: how long the pass now running has been running; 0 if none is. */
  | { readonly kind: 'pong'; readonly id: number; readonly passMs: number }
  /** The worker cannot serve and says why before it ends. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string }
