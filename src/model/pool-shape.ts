import type { KernelShape } from '../kernels/index.ts'
import type { ModelShape } from './types.ts'

/** Geometry of a pool that holds `tokens` positions of this model, in whole pages: never more rows than asked for. */
export function poolShape(shape: ModelShape, tokens: number, pageSize: number): KernelShape {
  return { ...poolGeometry(shape, pageSize), pages: Math.floor(tokens / pageSize) }
}

/** The same without a size. */
export function poolGeometry(shape: ModelShape, pageSize: number): Omit<KernelShape, 'pages'> {
  const { layers, heads, kvHeads, headDim } = shape
  return { pageSize, layers, heads, kvHeads, headDim }
}
