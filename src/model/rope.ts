import { ModelError } from './errors.ts'
import { readVector } from './weights/matrix.ts'
import type { WeightsSource } from './weights/source.ts'

/** Radians per position of each rotary pair: theta^(-2 i / dims), over the file's linear scale and factor of the pair. */
export function ropeFrequencies(source: WeightsSource): Float64Array {
  const { shape, tensors, ropeScale } = source.layout
  const { ropeDims, ropeTheta } = shape
  const factors = tensors.ropeFactors === null ? null : readVector(source, tensors.ropeFactors)
  if (factors?.some((factor) => factor <= 0)) {
    throw new ModelError({
      code: 'bad_metadata',
      message: 'tensor rope_freqs.weight holds a factor that is not above zero',
      details: { tensor: 'rope_freqs.weight' },
    })
  }
  return Float64Array.from(
    { length: ropeDims / 2 },
    (_, i) => ropeTheta ** ((-2 * i) / ropeDims) / ropeScale / (factors?.[i] ?? 1),
  )
}
