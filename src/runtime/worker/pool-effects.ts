import type { ClaimEffect, RetireEffect, ScrubEffect, SweepEffect, Timed, WorkerEvent } from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'

type PoolEffect = ClaimEffect | RetireEffect | ScrubEffect | SweepEffect

/** The effects on a pool that both workers have in common. */
export const executePoolEffect = (
  kernels: PoolKernels,
  effect: PoolEffect,
  now: () => number,
  dispatch: (event: Timed & WorkerEvent) => void,
): void => {
  switch (effect.kind) {
    case 'claim':
      kernels.claim(effect.pages, effect.owners, effect.generations, effect.ordinals)
      return
    case 'retire':
      kernels.retire(effect.pages, effect.scrub)
      return
    case 'scrub':
      kernels.retire(effect.pages, 'zero')
      dispatch({ kind: 'scrubbed', id: effect.id, now: now() })
      return
    case 'sweep':
      dispatch({ kind: 'swept', id: effect.id, fault: kernels.checkGuards(effect.table), now: now() })
      return
  }
}
