import type { LedgerFault } from './errors.ts'
import { ledgerFault } from './errors.ts'
import type { PageFences } from './fences.ts'
import type { PageRecords } from './records.ts'
import { FREE, QUARANTINED } from './states.ts'

export interface PoolCounts {
  readonly total: number
  readonly free: number
  /** Reserved, filling, sealed and draining pages. */
  readonly owned: number
  /** Of the owned ones, those given up but still held by somebody. */
  readonly draining: number
  readonly quarantined: number
}

/**
 * R7 page by page: the free list has no duplicate and holds exactly the pages in state free, a free page has no owner and
 * no holder, every other page has an owner, and the counts add up to the pool.
 */
export const auditRecords = (records: PageRecords, freeList: Uint32Array, fences: PageFences): LedgerFault | null => {
  const listed = new Uint8Array(records.total)
  for (const page of freeList) {
    if (listed[page] === 1) return ledgerFault('conservation', `page ${page} is on the free list twice`, page)
    listed[page] = 1
  }
  let owned = 0
  let quarantined = 0
  for (let page = 0; page < records.total; page++) {
    const free = records.state[page] === FREE
    if (free !== (listed[page] === 1))
      return ledgerFault('conservation', `page ${page}: state and free list differ`, page)
    if (free !== (records.owner[page] === 0))
      return ledgerFault('conservation', `page ${page}: state and owner differ`, page)
    if (free && records.holderCount(page) !== 0)
      return ledgerFault('conservation', `page ${page} is free and held`, page)
    if (records.state[page] === QUARANTINED) quarantined++
    else if (!free) owned++
  }
  const counts = { total: records.total, free: freeList.length, owned, quarantined }
  return fences.conserved(counts) ? null : ledgerFault('conservation', 'the pages do not add up to the pool')
}
