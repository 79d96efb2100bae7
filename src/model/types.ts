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

/** What the file says of its tokenizer and template; `text` builds a tokenizer from it. */
export interface TokenizerMetadata {
  /** tokenizer.ggml.model: `gpt2` (byte-level BPE) or `llama` (SentencePiece-style). */
  readonly model: string
  readonly pre: string | null
  readonly tokens: readonly string[]
  readonly scores: Float32Array | null
  readonly types: Int32Array | null
  readonly merges: readonly string[] | null
  readonly bosId: number | null
  readonly eosId: number | null
  readonly eotId: number | null
  readonly unknownId: number | null
  readonly addBos: boolean
  readonly addEos: boolean
  readonly addSpacePrefix: boolean
  readonly chatTemplate: string | null
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
