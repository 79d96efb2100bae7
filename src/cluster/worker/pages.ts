import type {
  Departure,
  HolderKind,
  LedgerFault,
  LedgerResult,
  OwnerId,
  PageGrant,
  PageHandle,
  PageTable,
  PageView,
  PoolCounts,
} from '../../kv/index.ts'
import { PageLedger, pageTable } from '../../kv/index.ts'
import type { Role, TelemetryEvent } from '../../telemetry/index.ts'
import type { ClaimEffect, RetireEffect, RevokeEffect, ScrubEffect, SweepEffect, TelemetryEffect } from '../effects.ts'
import type { Identity } from '../messages.ts'
import type { WorkerOptions } from '../options.ts'
import type { PoolUse } from '../port.ts'
import { Quarantine } from './quarantine.ts'

/** The pages of one request on one worker, from reservation until the last of them is home. */
export interface Holding {
  readonly identity: Identity
  readonly owner: OwnerId
  readonly grants: readonly PageGrant[]
  /** All pages in the contract's order. */
  readonly table: PageTable
  /** Pages that are not home yet, and whatever else it owes, see `owe`. */
  away: number
  /** Pages whose lease stands. */
  readonly leased: Set<PageGrant>
}

type PageEffect = ClaimEffect | RetireEffect | RevokeEffect | ScrubEffect | SweepEffect | TelemetryEffect

const NONE: ReadonlySet<PageGrant> = new Set()

/**
 * The ledger together with the effects that keep memory in step with it: claims stamp tags, homecomings clear them, suspect
 * pages are scrubbed before they come home. Both workers use it; it knows neither frames nor plans.
 */
export class WorkerPages {
  readonly #role: Role
  readonly #options: WorkerOptions
  readonly #ledger: PageLedger
  readonly #emit: (effect: PageEffect) => void
  readonly #byOwner = new Map<number, Holding>()
  readonly #quarantine: Quarantine
  #homecomings: number[] = []
  #settled: Holding[] = []
  #nextId = 1
  #passes = 0

  constructor(role: Role, options: WorkerOptions, emit: (effect: PageEffect) => void) {
    this.#role = role
    this.#options = options
    this.#emit = emit
    const { shape, fences, freeList, watch } = options
    this.#ledger = new PageLedger({ ...shape, fences: fences.pages, freeList, watch })
    this.#quarantine = new Quarantine(this.#ledger)
  }

  /** Reserves and claims; `ordinals[i]` is the place of page i in its table. */
  open(identity: Identity, ordinals: Uint32Array): LedgerResult<Holding> {
    this.#flushHomecomings()
    const reserved = this.#ledger.reserve(ordinals.length)
    if (!reserved.ok) return reserved
    const { owner, grants } = reserved.value
    const table = pageTable(grants)
    const holding: Holding = { identity, owner, grants, table, away: grants.length, leased: new Set(grants) }
    this.#byOwner.set(owner, holding)
    this.#emit({ kind: 'claim', ...table, ordinals })
    return { ok: true, value: holding }
  }

  fill(grant: PageGrant, layer: number, from: number, rows: number): LedgerFault | null {
    return this.#ledger.fill(grant, layer, from, rows) ?? this.#sealIfFull(grant)
  }

  fillAll(grant: PageGrant, from: number, rows: number): LedgerFault | null {
    return this.#ledger.fillAll(grant, from, rows) ?? this.#sealIfFull(grant)
  }

  filled(grant: PageHandle, layer: number): number {
    return this.#ledger.filled(grant, layer)
  }

  checkRead(table: PageTable, rows: number): LedgerFault | null {
    return this.#ledger.checkRead(table, rows)
  }

  checkWrite(grant: PageGrant, from: number, rows: number): LedgerFault | null {
    return this.#ledger.checkWrite(grant, from, rows)
  }

  hold(grants: readonly PageHandle[], kind: Exclude<HolderKind, 'lease'>): void {
    for (const grant of grants) this.#report(this.#ledger.hold(grant, kind))
  }

  release(grants: readonly PageHandle[], kind: HolderKind): void {
    // Backwards, so that the free list (a stack) hands the same pages out in the same order.
    for (let i = grants.length - 1; i >= 0; i--) {
      const departed = this.#ledger.release(grants[i]!, kind)
      if (departed.ok) this.#depart(grants[i]!, departed.value)
      else this.#report(departed.fault)
    }
  }

  /** Releases the lease on every page but those kept. Pages that somebody still holds drain; the rest is home at once. */
  close(holding: Holding, kept: ReadonlySet<PageGrant> = NONE): void {
    const leaving = [...holding.leased].filter((grant) => !kept.has(grant))
    for (const grant of leaving) holding.leased.delete(grant)
    this.release(leaving, 'lease')
  }

  /**
   * A full page leaves its request for an owner of its own, with its rows; memory must follow (`publish_page`). Null, and
   * reported, where the ledger refuses.
   */
  transfer(holding: Holding, grant: PageGrant): PageView | null {
    const transferred = this.#ledger.transfer(grant)
    if (!transferred.ok) {
      this.#report(transferred.fault)
      return null
    }
    holding.leased.delete(grant)
    return transferred.value
  }

  /** One thing more must be settled before the request's pages count as home. */
  owe(holding: Holding): void {
    holding.away++
  }

  settleOne(holding: Holding): void {
    if (--holding.away > 0) return
    this.#byOwner.delete(holding.owner)
    this.#settled.push(holding)
  }

  isSealed(handle: PageHandle): boolean {
    return this.#ledger.isSealed(handle)
  }

  /** Rows that stand in every layer. */
  rows(handle: PageHandle): number {
    return this.#ledger.rows(handle)
  }

  ownerOf(page: number): OwnerId {
    return this.#ledger.ownerOf(page)
  }

  /** A page of the prefix index is suspect. It waits for the scrub on the account of `blamed`, the request that found it. */
  quarantinePublished(view: PageView, reason: string, blamed: Holding | null): void {
    const refused = this.#ledger.quarantine(view)
    if (refused !== null) {
      this.#report(refused)
      return
    }
    const { owner } = view
    this.#quarantined(view, reason)
    if (blamed !== null && blamed.away > 0) {
      this.owe(blamed)
      this.#byOwner.set(owner, blamed)
    }
    this.release([view], 'lease')
  }

  /**
   * Reports what was found wrong with a request's page, and keeps the page from everybody until it is overwritten; only one of
   * its own, since a corrupt plan may name others'. Of a sum that is no number without a page to blame, all that hold rows.
   */
  integrityFault(holding: Holding, rule: string, fault: string, page: number | null): void {
    const { requestId } = holding.identity
    const owner = holding.owner
    this.telemetry({ kind: 'integrity_fault', role: this.#role, rule, fault, page: page ?? -1, owner, requestId })
    for (const grant of holding.grants) {
      const suspect = page === null && fault === 'not_finite' ? this.#ledger.filled(grant, 0) > 0 : grant.page === page
      if (!suspect || this.#ledger.isQuarantined(grant)) continue
      const refused = this.#ledger.quarantine(grant)
      if (refused !== null) this.#report(refused)
      else this.#quarantined(grant, fault)
    }
  }

  /**
   * R6: those of an ended request's pages that a writer beyond our reach may still store into wait in quarantine for its word,
   * or for the proof of its end. Returns how many; call it before `close`.
   */
  fence(grants: readonly PageGrant[]): number {
    const touched = grants.filter((grant) => this.#ledger.isTouched(grant) && !this.#ledger.isQuarantined(grant))
    const fenced = touched.filter((grant) => {
      const refused = this.#ledger.quarantine(grant)
      this.#report(refused)
      return refused === null
    })
    if (fenced.length > 0) this.#emit({ kind: 'revoke', pages: Uint32Array.from(fenced, (grant) => grant.page) })
    return fenced.length
  }

  /** Proof that pages in quarantine were overwritten: they come home. */
  scrubbed(id: number): void {
    for (const { handle, departed, wasSuspect } of this.#quarantine.scrubbed(id)) {
      if (!departed.ok) {
        this.#report(departed.fault)
        continue
      }
      if (wasSuspect) this.telemetry({ kind: 'page_returned', role: this.#role, page: handle.page })
      this.#settle(handle.owner)
    }
  }

  /** Counts passes and asks for a sweep over the guard rows of all held pages every so many. */
  passed(): void {
    this.#passes++
    const every = this.#options.sweepEvery
    if (every === 0 || this.#passes % every !== 0) return
    const table = this.#ledger.heldTable()
    if (table.pages.length > 0) this.#emit({ kind: 'sweep', id: this.#nextId++, table })
  }

  /** Whose page this is; undefined if it is home, or published. */
  holderOf(page: number): Holding | undefined {
    return this.#byOwner.get(this.#ledger.ownerOf(page))
  }

  telemetry(event: TelemetryEvent): void {
    this.#emit({ kind: 'telemetry', event })
  }

  /** End of a step: clears the tags of what came home, asks for scrubs, and says whose pages are all home now. */
  settle(): readonly Holding[] {
    this.#flushHomecomings()
    const scrub = this.#quarantine.scrub()
    if (scrub !== null) this.#emit(scrub)
    const settled = this.#settled
    this.#settled = []
    return settled
  }

  counts(): PoolCounts {
    return this.#ledger.counts()
  }

  use(): PoolUse {
    return { ...this.#ledger.counts(), cells: this.#ledger.cells() }
  }

  audit(): LedgerFault | null {
    return this.#ledger.audit()
  }

  #quarantined(handle: PageHandle, reason: string): void {
    const { page, owner } = handle
    this.#quarantine.suspect(handle)
    this.#emit({ kind: 'revoke', pages: Uint32Array.of(page) })
    this.telemetry({ kind: 'page_quarantined', role: this.#role, page, owner, reason })
  }

  #sealIfFull(grant: PageGrant): LedgerFault | null {
    const { pageSize } = this.#options.shape
    return this.#ledger.rows(grant) === pageSize ? this.#ledger.seal(grant, pageSize) : null
  }

  #depart(grant: PageHandle, departure: Departure): void {
    if (departure === 'idle') this.#quarantine.idle(grant)
    if (departure !== 'home') return
    this.#homecomings.push(grant.page)
    this.#settle(grant.owner)
  }

  #settle(owner: number): void {
    const holding = this.#byOwner.get(owner)
    if (holding === undefined) return
    if (owner !== holding.owner) this.#byOwner.delete(owner)
    this.settleOne(holding)
  }

  #flushHomecomings(): void {
    if (this.#homecomings.length === 0) return
    this.#emit({ kind: 'retire', pages: Uint32Array.from(this.#homecomings), scrub: this.#options.scrub })
    this.#homecomings = []
  }

  /** The ledger refused what a correct machine never asks for: nothing was changed, and the operator hears of it. */
  #report(fault: LedgerFault | null): void {
    if (fault === null) return
    const holding = this.#byOwner.get(fault.details.owner ?? 0)
    this.telemetry({
      kind: 'integrity_fault',
      role: this.#role,
      rule: fault.code === 'conservation' ? 'R7' : 'R6',
      fault: fault.code,
      page: fault.details.page ?? -1,
      owner: fault.details.owner ?? 0,
      requestId: holding?.identity.requestId ?? '',
    })
  }
}
