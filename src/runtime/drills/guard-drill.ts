import type { PoolKernels } from '../../kernels/index.ts'
import { createGuardBook } from '../worker/guard-book.ts'
import { type DrillFinding, drillCase, findingOf } from './detectors.ts'

/** Guard rows as the sweep over held pages sees them, by the main thread's instance; `first` and the page after it are the drill's. */
export const drillGuardSweep = (kernels: PoolKernels, first: number): DrillFinding => {
  const pages = Uint32Array.of(first, first + 1)
  const owners = Uint32Array.of(1, 1)
  const generations = Uint32Array.of(1, 2)
  const places = Uint32Array.of(0, 1)
  const sweep = (stamped: Uint32Array, held: Uint32Array): string => {
    kernels.claim(pages, owners, generations, stamped)
    const book = createGuardBook(kernels, first + 2)
    book.claimed(pages, places)
    const wrong = book.sweep({ pages, owners, generations: held })
    kernels.retire(pages, 'tags')
    return wrong === null ? 'silent' : `page ${wrong.page - first}`
  }
  return findingOf('guard_sweep', [
    drillCase('pages as they were claimed', 'silent', () => sweep(places, generations)),
    drillCase('a page stands in another place', 'page 1', () => sweep(Uint32Array.of(0, 2), generations)),
    drillCase('a page of an earlier life', 'page 1', () => sweep(places, Uint32Array.of(1, 1))),
  ])
}
