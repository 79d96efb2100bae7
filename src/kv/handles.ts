import type { OwnerId, PageTable } from './types.ts'

interface Handle {
  readonly page: number
  readonly owner: OwnerId
  readonly generation: number
}

/** May write the page as long as its owner and generation stand; a stale one is an error, never a write. */
export interface PageGrant extends Handle {
  readonly access: 'write'
}

/** May read the page as long as its owner and generation stand; a stale one is an error, never a read. */
export interface PageView extends Handle {
  readonly access: 'read'
}

export type PageHandle = PageGrant | PageView

/** The read handle to a page one may write. */
export const viewOf = (grant: PageGrant): PageView => ({
  access: 'read',
  page: grant.page,
  owner: grant.owner,
  generation: grant.generation,
})

/** Handles in order of position, as the kernel reads them. */
export const pageTable = (handles: readonly PageHandle[]): PageTable => {
  const count = handles.length
  const table = { pages: new Uint32Array(count), owners: new Uint32Array(count), generations: new Uint32Array(count) }
  for (let i = 0; i < count; i++) {
    const { page, owner, generation } = handles[i]!
    table.pages[i] = page
    table.owners[i] = owner
    table.generations[i] = generation
  }
  return table
}

/** The first `count` pages of a table, without a copy. */
export const firstPages = (table: PageTable, count: number): PageTable =>
  count === table.pages.length
    ? table
    : {
        pages: table.pages.subarray(0, count),
        owners: table.owners.subarray(0, count),
        generations: table.generations.subarray(0, count),
      }
