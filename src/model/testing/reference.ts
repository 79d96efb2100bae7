import type { ModelLayout } from '../architectures/architecture.ts'
import type { TensorInfo } from '../gguf/read.ts'
import { ggmlTypeOf, tensorTypeLayout } from '../gguf/tensor-types.ts'
import { dequantizer } from '../weights/dequantize.ts'
import type { WeightsSource } from '../weights/source.ts'

/**
 * The llama forward pass written down plainly in float64, from the dequantised weights: no pages, no batches, no blocks.
 * Slow and obvious; what the engine computes is compared with it.
 */
export class Reference {
  readonly #layout: ModelLayout
  readonly #weights = new Map<string, Float64Array>()
  readonly #frequencies: Float64Array

  constructor(source: WeightsSource) {
    this.#layout = source.layout
    for (const tensor of source.header.tensors.values()) this.#weights.set(tensor.name, readTensor(source, tensor))
    this.#frequencies = this.#ropeFrequencies()
  }

  /** Logits after every position of a sequence, positions x vocab. */
  logits(tokens: ArrayLike<number>): Float64Array[] {
    const { shape, tensors } = this.#layout
    let x = Array.from(tokens, (token) => this.#row(tensors.embedding, token))
    for (const layer of tensors.layers) {
      const attended = this.#attention(
        x.map((row) => this.#norm(row, layer.attentionNorm)),
        layer,
      )
      x = x.map((row, i) => add(row, this.#multiply(layer.attentionOutput, attended[i]!)))
      x = x.map((row) => {
        const input = this.#norm(row, layer.ffnNorm)
        const gate = this.#multiply(layer.gate, input)
        const up = this.#multiply(layer.up, input)
        const inner = gate.map((g, i) => (g / (1 + Math.exp(-g))) * up[i]!)
        return add(row, this.#multiply(layer.down, inner))
      })
    }
    return x.map((row) => this.#multiply(tensors.output, this.#norm(row, tensors.outputNorm)).slice(0, shape.vocab))
  }

  #attention(inputs: readonly Float64Array[], layer: ModelLayout['tensors']['layers'][number]): Float64Array[] {
    const { heads, kvHeads, headDim } = this.#layout.shape
    const queries = inputs.map((row, position) => this.#rotate(this.#multiply(layer.query, row), position))
    const keys = inputs.map((row, position) => this.#rotate(this.#multiply(layer.key, row), position))
    const values = inputs.map((row) => this.#multiply(layer.value, row))
    return queries.map((query, position) => {
      const out = new Float64Array(heads * headDim)
      for (let head = 0; head < heads; head++) {
        const kv = Math.floor(head / (heads / kvHeads)) * headDim
        const scores = keys.slice(0, position + 1).map((key) => {
          let sum = 0
          for (let i = 0; i < headDim; i++) sum += query[head * headDim + i]! * key[kv + i]!
          return sum / Math.sqrt(headDim)
        })
        const largest = Math.max(...scores)
        const weights = scores.map((score) => Math.exp(score - largest))
        const total = weights.reduce((sum, weight) => sum + weight, 0)
        weights.forEach((weight, p) => {
          for (let i = 0; i < headDim; i++) out[head * headDim + i]! += (weight / total) * values[p]![kv + i]!
        })
      }
      return out
    })
  }

  /** Interleaved pairs (2i, 2i + 1), as the llama architecture's files are laid out. */
  #rotate(row: Float64Array, position: number): Float64Array {
    const { headDim } = this.#layout.shape
    const out = row.slice()
    for (let head = 0; head < row.length; head += headDim) {
      this.#frequencies.forEach((frequency, i) => {
        const [a, b] = [row[head + 2 * i]!, row[head + 2 * i + 1]!]
        const angle = position * frequency
        out[head + 2 * i] = a * Math.cos(angle) - b * Math.sin(angle)
        out[head + 2 * i + 1] = a * Math.sin(angle) + b * Math.cos(angle)
      })
    }
    return out
  }

  #ropeFrequencies(): Float64Array {
    const { shape, tensors, ropeScale } = this.#layout
    const factors = tensors.ropeFactors === null ? null : this.#weights.get(tensors.ropeFactors.name)!
    return Float64Array.from(
      { length: shape.ropeDims / 2 },
      (_, i) => 1 / (ropeScale * (factors?.[i] ?? 1) * shape.ropeTheta ** ((2 * i) / shape.ropeDims)),
    )
  }

  #norm(row: Float64Array, tensor: TensorInfo): Float64Array {
    const scale = this.#weights.get(tensor.name)!
    const mean = row.reduce((sum, value) => sum + value * value, 0) / row.length
    const inverse = 1 / Math.sqrt(mean + this.#layout.shape.normEps)
    return row.map((value, i) => value * inverse * scale[i]!)
  }

  #row(tensor: TensorInfo, index: number): Float64Array {
    const width = tensor.dims[0]!
    return this.#weights.get(tensor.name)!.slice(index * width, (index + 1) * width)
  }

  #multiply(tensor: TensorInfo, row: Float64Array): Float64Array {
    const weights = this.#weights.get(tensor.name)!
    const [columns, rows] = [tensor.dims[0]!, tensor.dims[1]!]
    return Float64Array.from({ length: rows }, (_, r) => {
      let sum = 0
      for (let c = 0, at = r * columns; c < columns; c++, at++) sum += weights[at]! * row[c]!
      return sum
    })
  }
}

function readTensor(source: WeightsSource, tensor: TensorInfo): Float64Array {
  const bytes = new Uint8Array(tensor.bytes)
  source.read(tensor, 0, bytes)
  const values = new Float32Array(tensor.elements)
  const { block } = tensorTypeLayout(ggmlTypeOf(tensor.type))!
  dequantizer(tensor.type)(bytes, 0, tensor.elements / block, values, 0)
  return Float64Array.from(values)
}

function add(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value + b[i]!)
}

/** Root mean square of the difference over that of the expected values. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  let difference = 0
  let magnitude = 0
  for (let i = 0; i < expected.length; i++) {
    difference += (actual[i]! - expected[i]!) ** 2
    magnitude += expected[i]! ** 2
  }
  return Math.sqrt(difference / magnitude)
}
