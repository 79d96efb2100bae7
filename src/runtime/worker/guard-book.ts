import type { PoolKernels } from '../../kernels/index.ts'
import type { PageTable } from '../../kv/index.ts'

/** Remembers each page's place in its table, which is part of its guard rows, so that all held pages can be swept at once. */
export interface GuardBook {
  claimed(pages: Uint32Array, ordinals: Uint32Array): void
  /** The first of these pages, of whatever tables, whose guard rows are wrong. */
  sweep(table: PageTable): { readonly page: number; readonly layer: number } | null
}

export const createGuardBook = (kernels: PoolKernels, poolPages: number): GuardBook => {
  const ordinalOf = new Uint32Array(poolPages)
  // The kernel takes an entry's index for its ordinal: each run is laid out where its pages' places say.
  const place: PageTable = {
    pages: new Uint32Array(poolPages),
    owners: new Uint32Array(poolPages),
    generations: new Uint32Array(poolPages),
  }
  return {
    claimed: (pages, ordinals) => {
      pages.forEach((page, at) => {
        ordinalOf[page] = ordinals[at]!
      })
    },
    sweep: ({ pages, owners, generations }) => {
      for (let at = 0; at < pages.length; ) {
        const first = ordinalOf[pages[at]!]!
        let next = first
        do {
          place.pages[next] = pages[at]!
          place.owners[next] = owners[at]!
          place.generations[next] = generations[at]!
          at += 1
          next += 1
        } while (at < pages.length && ordinalOf[pages[at]!] === next)
        const wrong = kernels.checkGuards(place, next, first)
        if (wrong) return wrong
      }
      return null
    },
  }
}
