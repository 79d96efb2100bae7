/** What the ledger refuses, as values: `fullPageFences` is what a server runs with, each member is one rule's one place. */

/** Counts of everything that may still touch a page. */
export interface HolderCounts {
  readonly lease: number
  readonly step: number
  readonly writer: number
  readonly reader: number
  readonly copy: number
}

export interface PageFences {
  /** R5: does the handle name the page's present owner and generation? */
  readonly owner: (
    held: { readonly owner: number; readonly generation: number },
    actual: { readonly owner: number; readonly generation: number },
  ) => boolean
  /** R5: do the rows asked for stand in the page? */
  readonly filled: (wanted: number, standing: number) => boolean
  /** R6: may the page be reused now? */
  readonly fencedFree: (holders: HolderCounts) => boolean
  /** R7: do the counts add up to the pool? */
  readonly conserved: (counts: {
    readonly free: number
    readonly owned: number
    readonly quarantined: number
    readonly total: number
  }) => boolean
}

export const fullPageFences: PageFences = {
  owner: (held, actual) => held.owner === actual.owner && held.generation === actual.generation,
  filled: (wanted, standing) => wanted <= standing,
  fencedFree: (holders) =>
    holders.lease === 0 && holders.step === 0 && holders.writer === 0 && holders.reader === 0 && holders.copy === 0,
  conserved: (counts) => counts.free + counts.owned + counts.quarantined === counts.total,
}
