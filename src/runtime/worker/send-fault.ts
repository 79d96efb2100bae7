import type { PrefillEvent, SendPageEffect } from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'

export type SendFault = NonNullable<Extract<PrefillEvent, { kind: 'page_sent' }>['fault']>

/** The seal of a page where R8 is off. */
export const NO_SEAL = new Uint8Array(16)

/** R5: a seal made of a page that was found wrong would vouch for whatever stands in it. Null where nothing is, or R5 is off. */
export const sourceFault = (
  kernels: PoolKernels,
  { page, tag, frame: { layer, rows } }: SendPageEffect,
): SendFault | null => {
  if (tag === null) return null
  const { owner, generation } = kernels.tag(page)
  if (owner !== tag.owner || generation !== tag.generation) return 'page_tag'
  return kernels.filled(page, layer) < rows ? 'unfilled_row' : null
}
