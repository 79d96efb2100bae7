import type { TensorInfo } from '../gguf/read.ts'
import { ggmlTypeOf, tensorTypeLayout } from '../gguf/tensor-types.ts'
import { dequantizer } from './dequantize.ts'
import type { WeightsSource } from './source.ts'

/** The embedding as the file holds it; a row is dequantised when it is looked up. */
export class EmbeddingTable {
  readonly #bytes: Uint8Array
  readonly #tensor: TensorInfo

  constructor(source: WeightsSource, tensor: TensorInfo) {
    this.#tensor = tensor
    this.#bytes = new Uint8Array(tensor.bytes)
    source.read(tensor, 0, this.#bytes)
  }

  get bytes(): number {
    return this.#bytes.length
  }

  /** Writes the rows of `tokens` to `target`, one after the other from element `to` on. Every token is below the vocabulary's size. */
  lookUp(tokens: Int32Array, target: Float32Array, to: number): void {
    const width = this.#tensor.dims[0]!
    const { block, blockBytes } = tensorTypeLayout(ggmlTypeOf(this.#tensor.type))!
    const rowBlocks = width / block
    const read = dequantizer(this.#tensor.type)
    tokens.forEach((token, i) => {
      read(this.#bytes, token * rowBlocks * blockBytes, rowBlocks, target, to + i * width)
    })
  }
}
