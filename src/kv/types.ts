/** The shapes that travel between the ledger, the plans and the kernel. Plain values: no memory, no clock. */

/** Who holds pages: one request's lease on one worker. Made by the ledger, never reused within a process. */
export type OwnerId = number

/**
 * A run of pages in order of position, each with the tag its reader expects to find in memory.
 * Page `i` covers positions `i * pageSize` up to `(i + 1) * pageSize - 1`. The kernel compares `owners[i]` and
 * `generations[i]` with the tag that stands in the pool before it reads a row (R5).
 */
export interface PageTable {
  /** Page numbers in the pool; page 0 is a page like any other. */
  readonly pages: Uint32Array
  /** Expected owner of each page, never 0 (0 is the tag of a page nobody owns). */
  readonly owners: Uint32Array
  /** Expected generation of each page. */
  readonly generations: Uint32Array
}

/** Geometry of one pool; the same on both legs or the link is refused. */
export interface PoolShape {
  readonly pages: number
  /** Rows (token positions) per page. */
  readonly pageSize: number
  readonly layers: number
  readonly kvHeads: number
  readonly headDim: number
}
