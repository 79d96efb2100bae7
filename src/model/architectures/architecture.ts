import type { Fields } from '../gguf/fields.ts'
import type { GgufHeader, TensorInfo } from '../gguf/read.ts'
import type { ModelShape } from '../types.ts'

/** One decoder layer's tensors; matrices are rows x columns as the file has them, `dims[0]` being the input width. */
export interface LayerTensors {
  readonly attentionNorm: TensorInfo
  readonly query: TensorInfo
  readonly key: TensorInfo
  readonly value: TensorInfo
  readonly attentionOutput: TensorInfo
  readonly ffnNorm: TensorInfo
  readonly gate: TensorInfo
  readonly up: TensorInfo
  readonly down: TensorInfo
}

export interface ModelTensors {
  readonly embedding: TensorInfo
  readonly layers: readonly LayerTensors[]
  readonly outputNorm: TensorInfo
  /** The embedding itself where the file ties them. */
  readonly output: TensorInfo
  /** Divisors of the rotary frequencies (Llama 3.1's long contexts), ropeDims / 2 of them. */
  readonly ropeFactors: TensorInfo | null
}

/** A file understood: all numbers known, all tensors present with the right dimensions. */
export interface ModelLayout {
  readonly architecture: string
  readonly shape: ModelShape
  readonly tensors: ModelTensors
  /** Positions are divided by this before rotation (linear scaling); 1 is none. */
  readonly ropeScale: number
}

/** Reads one architecture's numbers and tensors from a judged header; throws ModelError for what it does not serve. */
export type ArchitectureReader = (header: GgufHeader, fields: Fields) => ModelLayout

/** Every matrix that takes part in a product; the embedding only where it is the output too. */
export function matricesOf(tensors: ModelTensors): TensorInfo[] {
  const layers = tensors.layers.flatMap((layer) => [
    layer.query,
    layer.key,
    layer.value,
    layer.attentionOutput,
    layer.gate,
    layer.up,
    layer.down,
  ])
  return [...layers, tensors.output]
}
