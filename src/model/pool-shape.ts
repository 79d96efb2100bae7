import type { KernelShape } from '../kernels/index.ts'
import type { ModelShape } from './types.ts'

const F32_BYTES = 4

/** Geometry of a pool that holds `tokens` positions of this model, in whole pages: never more rows than asked for. */
export function poolShape(shape: ModelShape, tokens: number, pageSize: number): KernelShape {
  return {
    pages: Math.floor(tokens / pageSize),
    pageSize,
    layers: shape.layers,
    heads: shape.heads,
    kvHeads: shape.kvHeads,
    headDim: shape.headDim,
  }
}

/** Bytes of K and V of one position over all layers, KV in f32. */
export function kvBytesPerToken(shape: ModelShape): number {
  return 2 * shape.layers * shape.kvHeads * shape.headDim * F32_BYTES
}
