import { auditRecords, type PoolCounts } from './audit.ts'
import type { LedgerFault, LedgerFaultCode, LedgerResult } from './errors.ts'
import { ledgerFault } from './errors.ts'
import type { PageFences } from './fences.ts'
import { type FreeList, stackOfPages } from './free-list.ts'
import { type PageGrant, type PageHandle, type PageView, viewOf } from './handles.ts'
import { PageRecords, type PageWatch } from './records.ts'
import { DRAINING, FILLING, FREE, type HolderKind, QUARANTINED, RESERVED, SEALED, stateCells } from './states.ts'
import type { OwnerId, PageTable } from './types.ts'

export interface LedgerOptions {
  readonly pages: number
  readonly pageSize: number
  readonly layers: number
  readonly fences: PageFences
  /** Default: `stackOfPages`. Handed in by the laboratory alone. */
  readonly freeList?: FreeList
  /** Told of every move of a page; for the simulator, which counts them. */
  readonly watch?: PageWatch
}

export interface Reservation {
  readonly owner: OwnerId
  /** In the order in which they will stand in tables; each is `reserved`, held by the lease, with no row filled. */
  readonly grants: readonly PageGrant[]
}

/** What became of a page when a holder left: still held, home (free again), or idle in quarantine and waiting for proof. */
export type Departure = 'held' | 'home' | 'idle'

/**
 * Who owns which page of one pool, how much of it stands, and who may still touch it. Knows no memory: effects that stamp
 * and clear tags follow from its answers. Every answer is data; a refused operation changes nothing.
 *
 * The free list is a stack (last freed, first claimed): hot pages are used again while the cache still has them, and a
 * missing fence shows at once instead of after a whole turn of the pool.
 */
export class PageLedger {
  readonly #records: PageRecords
  readonly #fences: PageFences
  readonly #free: FreeList
  readonly #pageSize: number
  #nextOwner: OwnerId = 1
  #broken: LedgerFault | null = null

  constructor(options: LedgerOptions) {
    this.#records = new PageRecords(options.pages, options.layers, options.watch)
    this.#fences = options.fences
    this.#pageSize = options.pageSize
    this.#free = options.freeList ?? stackOfPages(options.pages)
  }

  /** Takes `count` pages for a new owner, all or none. Each gets a new generation, so that every older handle is stale. */
  reserve(count: number): LedgerResult<Reservation> {
    if (this.#broken !== null) return { ok: false, fault: this.#broken }
    if (count > this.#free.size) return refuse('no_room', `asked for ${count} pages, ${this.#free.size} are free`)
    const owner = this.#newOwner()
    const grants: PageGrant[] = []
    for (let i = 0; i < count; i++) {
      const page = this.#free.pop()!
      grants.push({ access: 'write', page, owner, generation: this.#records.claim(page, owner) })
    }
    const fault = this.#checkConservation()
    return fault === null ? { ok: true, value: { owner, grants } } : { ok: false, fault }
  }

  /** Rows `from … from + rows - 1` of one layer stand now. Rows come in order: `from` is the number that stood before. */
  fill(grant: PageGrant, layer: number, from: number, rows: number): LedgerFault | null {
    const fault = this.#checkWrite(grant, from, rows, this.#records.filled(grant.page, layer))
    if (fault !== null) return fault
    this.#records.setFilled(grant.page, layer, from + rows)
    if (this.#records.state[grant.page] === RESERVED) this.#records.move(grant.page, FILLING)
    return null
  }

  /** As `fill`, in every layer at once. */
  fillAll(grant: PageGrant, from: number, rows: number): LedgerFault | null {
    const fault = this.#checkWrite(grant, from, rows, this.#records.leastFilled(grant.page))
    if (fault !== null) return fault
    this.#records.setFilledAll(grant.page, from + rows)
    if (this.#records.state[grant.page] === RESERVED) this.#records.move(grant.page, FILLING)
    return null
  }

  /** R5 when a write plan is built: the grant stands, and the rows follow those that stand. Nothing is changed. */
  checkWrite(grant: PageGrant, from: number, rows: number): LedgerFault | null {
    return this.#checkWrite(grant, from, rows, this.#records.leastFilled(grant.page))
  }

  /** Rows standing in every layer. */
  rows(handle: PageHandle): number {
    return this.#records.leastFilled(handle.page)
  }

  filled(handle: PageHandle, layer: number): number {
    return this.#records.filled(handle.page, layer)
  }

  /** No more rows: `rows` of them stand in every layer. */
  seal(grant: PageGrant, rows: number): LedgerFault | null {
    const stale = this.#checkHandle(grant)
    if (stale !== null) return stale
    if (this.#records.state[grant.page] !== FILLING) return faultOf('wrong_state', 'only a filling page seals', grant)
    const standing = this.#records.leastFilled(grant.page)
    if (!this.#fences.filled(rows, standing)) return faultOf('unfilled', `${standing} of ${rows} rows stand`, grant)
    this.#records.move(grant.page, SEALED)
    return null
  }

  /**
   * A sealed page gets an owner of its own and a new generation; its rows stay. For publishing: its maker's handles are stale
   * from here on. Refused while anybody but the lease may touch it (R6), or where its rows do not stand (R5).
   */
  transfer(grant: PageGrant): LedgerResult<PageView> {
    const stale = this.#checkHandle(grant)
    if (stale !== null) return { ok: false, fault: stale }
    const records = this.#records
    const state = records.state[grant.page]!
    if (state === FREE || state === DRAINING || state === QUARANTINED)
      return { ok: false, fault: faultOf('wrong_state', 'only a page that is held changes hands', grant) }
    if (!this.#fences.fencedFree({ ...records.holdersOf(grant.page), lease: 0 }))
      return { ok: false, fault: faultOf('still_held', 'page that changes hands is still touched', grant) }
    if (!this.#fences.filled(this.#pageSize, records.leastFilled(grant.page)))
      return { ok: false, fault: faultOf('unfilled', 'page that changes hands is not full', grant) }
    if (state !== SEALED) records.move(grant.page, SEALED)
    const owner = this.#newOwner()
    const generation = records.rename(grant.page, owner)
    return { ok: true, value: viewOf({ ...grant, owner, generation }) }
  }

  /** Owners stand in memory as 32 bits and are never used twice; a worker that has used them all up begins a new life. */
  #newOwner(): OwnerId {
    if (this.#nextOwner > 0xffff_ffff) throw new RangeError('every owner id of this ledger is used up')
    return this.#nextOwner++
  }

  isSealed(handle: PageHandle): boolean {
    return this.#checkHandle(handle) === null && this.#records.state[handle.page] === SEALED
  }

  /** 0 if nobody. */
  ownerOf(page: number): OwnerId {
    return this.#records.owner[page] ?? 0
  }

  /** R5 when a read plan is built: every page is still its owner's, and positions 0 … rows - 1 stand in every layer. */
  checkRead(table: PageTable, rows: number): LedgerFault | null {
    const records = this.#records
    for (let i = 0; i < table.pages.length; i++) {
      const page = table.pages[i]!
      const held = { owner: table.owners[i]!, generation: table.generations[i]! }
      const actual = { owner: records.owner[page]!, generation: records.generation[page]! }
      if (!this.#fences.owner(held, actual))
        return ledgerFault('stale_handle', `page ${page} is not the reader's`, page, held.owner)
      const wanted = Math.min(this.#pageSize, rows - i * this.#pageSize)
      if (!this.#fences.filled(wanted, records.leastFilled(page)))
        return ledgerFault('unfilled', `page ${page} has fewer than ${wanted} rows`, page, held.owner)
    }
    return null
  }

  /** One more holder. Refused on pages that drain or are free: nothing new may begin there. */
  hold(handle: PageHandle, kind: Exclude<HolderKind, 'lease'>): LedgerFault | null {
    const stale = this.#checkHandle(handle)
    if (stale !== null) return stale
    const state = this.#records.state[handle.page]!
    if (state === FREE || state === DRAINING || state === QUARANTINED)
      return faultOf('wrong_state', `no new ${kind} on this page`, handle)
    this.#records.holders[kind][handle.page]!++
    return null
  }

  /** A holder has provably let go. Releasing the lease makes the page drain; the last to leave frees it (R6). */
  release(handle: PageHandle, kind: HolderKind): LedgerResult<Departure> {
    const stale = this.#checkHandle(handle)
    if (stale !== null) return { ok: false, fault: stale }
    const records = this.#records
    const count = records.holders[kind]
    if (count[handle.page]! === 0) return { ok: false, fault: faultOf('not_held', `no ${kind} to release`, handle) }
    count[handle.page]!--
    const state = records.state[handle.page]!
    if (kind === 'lease' && records.holders.lease[handle.page] === 0 && state !== QUARANTINED)
      records.move(handle.page, DRAINING)
    if (records.state[handle.page] === QUARANTINED)
      return { ok: true, value: records.holderCount(handle.page) === 0 ? 'idle' : 'held' }
    if (records.state[handle.page] !== DRAINING || !this.#fences.fencedFree(records.holdersOf(handle.page)))
      return { ok: true, value: 'held' }
    return this.#takeHome(handle)
  }

  /** Its content or its tag is suspect: nobody gets the page until proof comes. Holders stay counted. */
  quarantine(handle: PageHandle): LedgerFault | null {
    const stale = this.#checkHandle(handle)
    if (stale !== null) return stale
    if (this.#records.state[handle.page] === FREE)
      return faultOf('wrong_state', 'a free page has no suspect content', handle)
    this.#records.move(handle.page, QUARANTINED)
    return this.#checkConservation()
  }

  /** Proof has come (the page was overwritten and its tag cleared): it goes home if nobody holds it any more. */
  acquit(handle: PageHandle): LedgerResult<Departure> {
    const stale = this.#checkHandle(handle)
    if (stale !== null) return { ok: false, fault: stale }
    if (this.#records.state[handle.page] !== QUARANTINED)
      return { ok: false, fault: faultOf('wrong_state', 'page is not in quarantine', handle) }
    if (!this.#fences.fencedFree(this.#records.holdersOf(handle.page)))
      return { ok: false, fault: faultOf('still_held', 'page in quarantine is still held', handle) }
    return this.#takeHome(handle)
  }

  /** R6: would the page still be touched by somebody if its lease were let go now? */
  isTouched(handle: PageHandle): boolean {
    return !this.#fences.fencedFree({ ...this.#records.holdersOf(handle.page), lease: 0 })
  }

  isQuarantined(handle: PageHandle): boolean {
    return this.#checkHandle(handle) === null && this.#records.state[handle.page] === QUARANTINED
  }

  counts(): PoolCounts {
    return this.#records.counts(this.#free.size)
  }

  /** One character a page, see `stateCells`. */
  cells(): string {
    return Array.from(this.#records.state, (state) => stateCells[state]).join('')
  }

  /** R7 in full, page by page: also finds what equal counts hide. O(pages). */
  audit(): LedgerFault | null {
    return this.#broken ?? auditRecords(this.#records, this.#free.list(), this.#fences)
  }

  /** Every held page with the tag that must stand in memory; what a guard-row sweep walks. */
  heldTable(): PageTable {
    const pages = Uint32Array.from(this.#records.heldPages())
    return {
      pages,
      owners: pages.map((page) => this.#records.owner[page]!),
      generations: pages.map((page) => this.#records.generation[page]!),
    }
  }

  #takeHome(handle: PageHandle): LedgerResult<Departure> {
    this.#records.free(handle.page)
    this.#free.push(handle.page)
    const fault = this.#checkConservation()
    return fault === null ? { ok: true, value: 'home' } : { ok: false, fault }
  }

  /** Cheap form of R7, at every move into or out of the free list. Once broken the ledger grants nothing more. */
  #checkConservation(): LedgerFault | null {
    const counts = this.counts()
    if (!this.#fences.conserved(counts))
      this.#broken ??= ledgerFault(
        'conservation',
        `${counts.free} free, ${counts.owned} owned, ${counts.quarantined} quarantined of ${counts.total}`,
      )
    return this.#broken
  }

  #checkWrite(grant: PageGrant, from: number, rows: number, standing: number): LedgerFault | null {
    const stale = this.#checkHandle(grant)
    if (stale !== null) return stale
    const state = this.#records.state[grant.page]!
    if (state !== RESERVED && state !== FILLING) return faultOf('wrong_state', 'page takes no rows', grant)
    // The page's end is no fence but memory safety: nothing may switch it off.
    if (rows < 1 || from + rows > this.#pageSize)
      return faultOf('write_order', `rows ${from} to ${from + rows} leave the page`, grant)
    if (!this.#fences.filled(from, standing) || !this.#fences.filled(standing, from))
      return faultOf('write_order', `row ${from} does not follow ${standing}`, grant)
    return null
  }

  #checkHandle(handle: PageHandle): LedgerFault | null {
    const actual = {
      owner: this.#records.owner[handle.page] ?? 0,
      generation: this.#records.generation[handle.page] ?? 0,
    }
    return this.#fences.owner(handle, actual) ? null : faultOf('stale_handle', 'page has changed hands', handle)
  }
}

const faultOf = (code: LedgerFaultCode, message: string, handle: PageHandle): LedgerFault =>
  ledgerFault(code, message, handle.page, handle.owner)

const refuse = (code: LedgerFaultCode, message: string): { readonly ok: false; readonly fault: LedgerFault } => ({
  ok: false,
  fault: ledgerFault(code, message),
})
