import type { PrefillEvent, PublishPageEffect, VerifyPageEffect } from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'
import type { GuardBook } from './guard-book.ts'
import { sealsAgree } from './seals-agree.ts'

/** Executes what only prefill asks for: pages that enter the prefix index, and pages taken out of it again. */
export const createPublishedPages = (
  kernels: PoolKernels,
  guards: GuardBook,
  now: () => number,
  dispatch: (event: PrefillEvent) => void,
): ((effect: PublishPageEffect | VerifyPageEffect) => void) => {
  const sealsOf = (page: number, rows: number, keys: readonly Uint8Array[]): Uint8Array[] =>
    keys.map((key, layer) => kernels.seal(page, layer, rows, key))
  const tables = (page: number, { owner, generation }: PublishPageEffect['from']) => ({
    pages: Uint32Array.of(page),
    owners: Uint32Array.of(owner),
    generations: Uint32Array.of(generation),
  })
  return (effect) => {
    const { id, page, rows, lineageKeys } = effect
    if (effect.kind === 'verify_page') {
      const found = sealsOf(page, rows, effect.lineageKeys)
      const ok = found.every((seal, layer) => sealsAgree(seal, effect.seals[layer]!))
      dispatch({ kind: 'page_verified', id, ok, now: now() })
      return
    }
    const ordinals = Uint32Array.of(effect.ordinal)
    // Looked at first: the new tag writes the guard rows anew, whatever stood there.
    const guarded = guards.sweep(tables(page, effect.from)) === null
    const { pages, owners, generations } = tables(page, effect.to)
    kernels.retag(pages, owners, generations, ordinals)
    guards.claimed(pages, ordinals)
    dispatch({ kind: 'page_published', id, guarded, seals: sealsOf(page, rows, lineageKeys ?? []), now: now() })
  }
}
