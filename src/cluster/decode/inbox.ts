import { firstPages, type PageGrant } from '../../kv/index.ts'
import type { CloseLeaseEffect, CopyRowsEffect, DiscardEffect, DiscardReason, PlaceEffect } from '../effects.ts'
import type { Shortfall } from '../fences.ts'
import { identityKey, identityOf, leaseName } from '../identity.ts'
import type { Lease, ManifestFrame, PageFrame } from '../messages.ts'
import type { DecodeOptions } from '../options.ts'
import type { WorkerPages } from '../worker/pages.ts'
import type { DecodeRequest } from './request.ts'

type InboxEffect = PlaceEffect | DiscardEffect | CopyRowsEffect | CloseLeaseEffect

/** Why a request cannot be armed, or may not live on. `page` is a page of the pool, -1 where no single page is at fault. */
export interface IntegrityFault {
  readonly rule: 'R4' | 'R5' | 'R8'
  readonly fault: string
  readonly page: number
  readonly detail: string
}

interface Placing {
  readonly request: DecodeRequest
  readonly grant: PageGrant
  readonly ordinal: number
  readonly layer: number
  readonly rows: number
}

/**
 * The receiving end of the transfer: frames are matched with open leases and nothing else (R6), bounds and identity are
 * checked before a byte is placed (R10), seals after (R8), and all of it against the contract before a request is armed (R4).
 */
export class Inbox {
  readonly #options: DecodeOptions
  readonly #pages: WorkerPages
  readonly #emit: (effect: InboxEffect) => void
  readonly #floor: () => Pick<CloseLeaseEffect, 'floor'>
  readonly #leases = new Map<number, DecodeRequest>()
  readonly #placing = new Map<number, Placing>()
  readonly #copying = new Map<
    number,
    { readonly request: DecodeRequest; readonly from: PageGrant; readonly to: readonly PageGrant[] }
  >()
  #nextId = 1

  constructor(
    options: DecodeOptions,
    pages: WorkerPages,
    emit: (effect: InboxEffect) => void,
    floor: () => Pick<CloseLeaseEffect, 'floor'>,
  ) {
    this.#options = options
    this.#pages = pages
    this.#emit = emit
    this.#floor = floor
  }

  open(request: DecodeRequest): void {
    this.#leases.set(request.lease.id, request)
  }

  /** From here on no frame of this lease is placed. Over a socket that is the proof that its writer is gone (R6). */
  close(request: DecodeRequest): void {
    if (this.#leases.delete(request.lease.id)) this.#tellClosed(request.lease)
  }

  /** Answers one page frame with exactly one `place` or `discard`. Returns what is wrong with the frame, if anything. */
  frame(frame: PageFrame): DiscardReason | null {
    const request = this.openUnder(frame.lease)
    const reason = request === undefined ? 'unknown_lease' : this.#objection(request, frame)
    if (request === undefined || reason !== null) {
      this.#emit({ kind: 'discard', reason: reason ?? 'unknown_lease' })
      if (request === undefined) this.#tellClosed(frame.lease)
      return reason
    }
    const { ordinal, layer, rows } = frame
    const grant = request.holding.grants[ordinal]!
    const id = this.#nextId++
    request.delivered.take(ordinal, layer, rows)
    this.#placing.set(id, { request, grant, ordinal, layer, rows })
    this.#pages.hold([grant], 'writer')
    this.#emit({
      kind: 'place',
      id,
      page: grant.page,
      layer,
      rows,
      seal: frame.seal,
      lineageKey: this.#key(request, ordinal, layer),
      stored: this.#options.transport === 'shared',
    })
    return null
  }

  /** A frame's bytes are in the page, or did not verify. */
  placed(
    id: number,
    outcome: 'ok' | 'bad_seal',
  ): { readonly request: DecodeRequest; readonly fault: IntegrityFault | null } | null {
    const placing = this.#placing.get(id)
    if (placing === undefined) return null
    this.#placing.delete(id)
    const { request, grant, ordinal, layer, rows } = placing
    request.delivered.placing--
    this.#pages.release([grant], 'writer')
    if (request.phase !== 'filling') return { request, fault: null }
    const where = `page ${grant.page} (${ordinal} of its table) layer ${layer}`
    if (outcome === 'bad_seal')
      return { request, fault: { rule: 'R8', fault: outcome, page: grant.page, detail: where } }
    const refused = this.#pages.fill(grant, layer, 0, rows)
    if (refused !== null)
      return { request, fault: { rule: 'R5', fault: refused.code, page: grant.page, detail: where } }
    request.delivered.stands(ordinal, layer)
    return { request, fault: null }
  }

  /** Returns the request whose manifest this is, or what is wrong with it. */
  manifest(frame: ManifestFrame): DecodeRequest | DiscardReason {
    const request = this.openUnder(frame.lease)
    if (request === undefined) return 'unknown_lease'
    if (!this.#options.fences.identity(identityOf(request), identityOf(frame))) return 'wrong_identity'
    if (request.manifest !== null) return 'duplicate'
    request.manifest = frame
    return request
  }

  /** Everything that must hold before the first sample: R4, R8, R5, in this order. */
  judge(request: DecodeRequest, manifest: ManifestFrame): IntegrityFault | null {
    const { shape, fences } = this.#options
    const { delivered, claims, layout, ids } = request
    const short =
      fences.contract({
        pageSize: shape.pageSize,
        layers: shape.layers,
        promptRows: ids.length,
        rowsOf: (ordinal, layer) => delivered.rows(ordinal, layer),
        manifest,
        tokenDigest: claims.tokenDigest,
      }) ??
      fences.seals.missing(layout.promptPages, shape.layers, (ordinal, layer) => delivered.isStanding(ordinal, layer))
    if (short !== null) return this.#shortfall(request, short)
    const refused = this.#pages.checkRead(firstPages(request.sequences[0]!.table, layout.promptPages), ids.length)
    if (refused === null) return null
    return { rule: 'R5', fault: refused.code, page: refused.details.page ?? -1, detail: refused.message }
  }

  /** Asks for each further sequence's own copy of the partly filled last prompt page. False if none is needed. */
  copyTails(request: DecodeRequest): boolean {
    const { tailRows, sharedPages } = request.layout
    const [first, ...others] = request.sequences.map((sequence) => sequence.grants[sharedPages]!)
    if (tailRows === 0 || first === undefined || others.length === 0) return false
    const id = this.#nextId++
    this.#copying.set(id, { request, from: first, to: others })
    this.#pages.hold([first, ...others], 'copy')
    this.#emit({
      kind: 'copy_rows',
      id,
      copies: others.map((to) => ({ from: first.page, to: to.page, rows: tailRows })),
    })
    return true
  }

  copied(id: number): { readonly request: DecodeRequest; readonly fault: IntegrityFault | null } | null {
    const copying = this.#copying.get(id)
    if (copying === undefined) return null
    this.#copying.delete(id)
    const { request, from, to } = copying
    let fault: IntegrityFault | null = null
    if (request.phase === 'copying') {
      for (const grant of to) {
        const refused = this.#pages.fillAll(grant, 0, request.layout.tailRows)
        if (refused !== null) fault ??= { rule: 'R5', fault: refused.code, page: grant.page, detail: refused.message }
      }
    }
    this.#pages.release([from, ...to], 'copy')
    return { request, fault }
  }

  #tellClosed(lease: Lease): void {
    this.#emit({ kind: 'close_lease', lease: leaseName(lease), ...this.#floor() })
  }

  #objection(request: DecodeRequest, frame: PageFrame): DiscardReason | null {
    if (!this.#options.fences.identity(identityOf(request), identityOf(frame))) return 'wrong_identity'
    const { layers, pageSize } = this.#options.shape
    const inside =
      isBelow(frame.layer, layers) &&
      isBelow(frame.ordinal, request.layout.promptPages) &&
      isBelow(frame.rows - 1, pageSize)
    if (!inside) return 'out_of_bounds'
    if (request.phase !== 'filling') return 'closed'
    return request.delivered.seen(frame.ordinal, frame.layer) ? 'duplicate' : null
  }

  /** The request whose lease this is, while it is open. */
  openUnder(lease: Lease): DecodeRequest | undefined {
    return lease.epoch === this.#options.epoch ? this.#leases.get(lease.id) : undefined
  }

  /** From the ids that decode holds itself: a frame of other ids, another place or another length does not verify. */
  #key(request: DecodeRequest, ordinal: number, layer: number): Uint8Array | null {
    const { fences, crypto, shape } = this.#options
    const rows = Math.min(shape.pageSize, request.ids.length - ordinal * shape.pageSize)
    const tokenDigest = request.digests[ordinal] ?? new Uint8Array(32)
    return fences.seals.key({ namespace: identityKey(request), tokenDigest, layer, ordinal, rows }, crypto.sha256)
  }

  #shortfall(request: DecodeRequest, short: Shortfall): IntegrityFault {
    const page = short.ordinal === null ? -1 : request.holding.grants[short.ordinal]!.page
    const where = short.ordinal === null ? '' : ` of page ${page} (${short.ordinal} of its table) layer ${short.layer}`
    const rule = short.what === 'seal' ? 'R8' : 'R4'
    return {
      rule,
      fault: short.what,
      page,
      detail: `${short.what}${where}: ${short.received} delivered, ${short.expected} contracted`,
    }
  }
}

const isBelow = (value: number, bound: number): boolean => Number.isInteger(value) && value >= 0 && value < bound
