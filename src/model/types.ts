import type { KernelChecks, PoolKernels, PoolMemory } from '../kernels/index.ts'
import type { TokenizerMetadata } from '../text/index.ts'
import type { ModelRefusal } from './errors.ts'
import type { ForwardPlan, ForwardResult, SampledToken, SampleRequest } from './plan.ts'

/** The llama architecture's numbers, from the file. */
export interface ModelShape {
  readonly layers: number
  readonly hidden: number
  readonly ffn: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly vocab: number
  readonly contextLength: number
  readonly ropeTheta: number
  readonly ropeDims: number
  readonly normEps: number
}

/** Draws a token; the engine's sampler is handed in, since `model` stands below `engine`. */
export type Sampler = (logits: Float32Array, request: SampleRequest) => SampledToken

/** The forward pass over pages; lives in a worker's forward thread. One run at a time. */
export interface ForwardPass {
  readonly shape: ModelShape
  /** `onLayer(l)` fires when all rows of layer l of this pass stand in the pool (prefill sends that layer's pages then). */
  run(plan: ForwardPlan, onLayer: (layer: number) => void): Promise<ForwardResult>
  close(): Promise<void>
}

export interface ForwardOptions {
  readonly threads: number
  readonly sampler: Sampler
}

/** What `loadModel` needs besides the file. */
export interface LoadOptions extends ForwardOptions {
  /** The pool the pass writes and reads; its shape must be the model's (see `poolShape`). */
  readonly pool: PoolMemory
  readonly checks: KernelChecks
  /** Which of the pool's private scratch regions the pass's kernels use; default 0. The main thread's instance takes another. */
  readonly lane?: number
  /** Region of the attention's helper thread, started when there are two threads or more; default the last one. */
  readonly helperLane?: number
  /** Refuse the file unless its digest is this one (the one `inspectModel` gave when the cluster was planned). */
  readonly expectDigest?: string
}

export interface LoadedModel {
  readonly kind: 'ok'
  readonly pass: ForwardPass
  /** SHA-256 over the file, hex: the `weights` of tickets and prefix keys. */
  readonly digest: string
  /** One line each: what was converted on the way in. */
  readonly notes: readonly string[]
  /** The instance over the pool that the pass runs on. */
  readonly kernels: PoolKernels
  /** Start-up drill: whether a row's bits are the same alone and in a batch, on this CPU. Touches no pool. */
  drill(): Promise<DrillResult>
  /** A small part of it, another one each turn; what was found variant stays so. Not while a pass runs. */
  drillAgain(turn: number): Promise<DrillResult>
  /**
   * Another pass with the same weights over another pool, whose kernels are handed in. It may run while the others do; its
   * `close` frees nothing, and it is of no use once `pass` is closed.
   */
  over(kernels: PoolKernels, pageSize: number): ForwardPass
}

export type DrillResult =
  | { readonly kind: 'invariant' }
  | { readonly kind: 'variant'; readonly stage: 'first' | 'middle' | 'last'; readonly batch: number }

export type LoadResult = LoadedModel | ModelRefusal

/** What a file says of itself, judged but without its weights in memory. */
export interface ModelInspection {
  readonly kind: 'ok'
  readonly path: string
  /** `general.name`, or the file's name without `.gguf`. */
  readonly name: string
  readonly architecture: string
  readonly shape: ModelShape
  readonly tokenizer: TokenizerMetadata
  readonly parameters: number
  readonly fileBytes: number
  /** SHA-256 over the file, hex. */
  readonly digest: string
  /** Tensor types and how many tensors and bytes of each, most bytes first. */
  readonly tensorTypes: readonly { readonly type: string; readonly tensors: number; readonly bytes: number }[]
  /** One line each: what will be converted at load. */
  readonly notes: readonly string[]
  /** Bytes of the weights as a worker holds them: embedding as in the file, products in 4 bit, 8 bit or F32 with their scales. */
  readonly heldBytes: number
  /** K and V of one position over all layers, in f32. */
  readonly kvBytesPerToken: number
}

export type InspectResult = ModelInspection | ModelRefusal
