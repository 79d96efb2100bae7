import type {
  ClaimEffect,
  RetireEffect,
  RevokeEffect,
  ScrubEffect,
  SweepEffect,
  Timed,
  WorkerEvent,
} from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'
import { createGuardBook, type GuardBook } from './guard-book.ts'

type PoolEffect = ClaimEffect | RetireEffect | RevokeEffect | ScrubEffect | SweepEffect

/** Executes the effects on a pool that both workers have in common. */
export const createPoolEffects = (
  kernels: PoolKernels,
  poolPages: number,
  now: () => number,
  dispatch: (event: Timed & WorkerEvent) => void,
  guards: GuardBook = createGuardBook(kernels, poolPages),
): ((effect: PoolEffect) => void) => {
  return (effect) => {
    switch (effect.kind) {
      case 'claim':
        kernels.claim(effect.pages, effect.owners, effect.generations, effect.ordinals)
        guards.claimed(effect.pages, effect.ordinals)
        return
      case 'retire':
        kernels.retire(effect.pages, effect.scrub)
        return
      case 'revoke':
        kernels.retire(effect.pages, 'tags')
        return
      case 'scrub':
        kernels.retire(effect.pages, 'zero')
        dispatch({ kind: 'scrubbed', id: effect.id, now: now() })
        return
      case 'sweep':
        dispatch({ kind: 'swept', id: effect.id, fault: guards.sweep(effect.table), now: now() })
        return
    }
  }
}
