import {
  contractLayout,
  firstPages,
  type LedgerFault,
  layoutOrdinals,
  type PoolCounts,
  prefixDigests,
} from '../../kv/index.ts'
import type { DecodeEffect } from '../effects.ts'
import type { DecodeEvent } from '../events.ts'
import type { TicketGate } from '../fences.ts'
import { identityKey, identityOf } from '../identity.ts'
import type { Decoder } from '../machines.ts'
import type { FailureCode, Identity, Lease, ManifestFrame, PageFrame, Reserve } from '../messages.ts'
import type { DecodeOptions } from '../options.ts'
import type { PoolUse } from '../port.ts'
import { declineCode } from '../worker/decline.ts'
import { WorkerPages } from '../worker/pages.ts'
import { Inbox, type IntegrityFault } from './inbox.ts'
import { type DecodeRequest, newRequest } from './request.ts'
import { Stepper } from './stepper.ts'
import { Writers } from './writers.ts'

/**
 * Reserves whole contracts, takes pages in under leases, and samples once everything contracted stands verified. There is
 * no preemption: what was reserved is there. Says `released` exactly once per reservation, when its last page is home.
 */
export class DecodeMachine implements Decoder {
  readonly #options: DecodeOptions
  readonly #pages: WorkerPages
  readonly #inbox: Inbox
  readonly #stepper: Stepper
  /** Null over a socket, where nobody writes but decode itself. */
  readonly #writers: Writers | null
  readonly #gate: TicketGate
  readonly #requests = new Map<string, DecodeRequest>()
  #nextLease = 1
  #arrivals = 0
  #now = 0
  #effects: DecodeEffect[] = []

  constructor(options: DecodeOptions) {
    const emit = (effect: DecodeEffect): void => {
      this.#effects.push(effect)
    }
    this.#options = options
    this.#pages = new WorkerPages('decode', options, emit)
    this.#writers = options.transport === 'shared' ? new Writers(this.#pages) : null
    this.#inbox = new Inbox(options, this.#pages, emit, () =>
      this.#writers === null ? {} : { floor: this.#writers.floor(this.#nextLease) },
    )
    this.#stepper = new Stepper(options, this.#pages, emit, {
      fault: (request, rule, fault, page) => this.#fault(request, rule, fault, page),
      finished: (request) => this.#endIfAllFinished(request),
    })
    this.#gate = options.fences.ticket('decode', options.crypto)
  }

  step(event: DecodeEvent): DecodeEffect[] {
    this.#now = event.now
    this.#effects = []
    this.#on(event)
    this.#stepper.plan(this.#requests.values())
    for (const holding of this.#pages.settle()) {
      this.#requests.delete(identityKey(holding.identity))
      const { requestId, attempt } = holding.identity
      this.#send({ kind: 'released', requestId, attempt })
    }
    return this.#effects
  }

  poolUse(): PoolUse {
    return this.#pages.use()
  }

  poolCounts(): PoolCounts {
    return this.#pages.counts()
  }

  /** R7 in full, O(pages); null when every page is accounted for. */
  audit(): LedgerFault | null {
    return this.#pages.audit()
  }

  #on(event: DecodeEvent): void {
    switch (event.kind) {
      case 'start': {
        const { model, weights, epoch, shape } = this.#options
        this.#send({ kind: 'hello', role: 'decode', model, weights, epoch, shape })
        break
      }
      case 'link_up':
      case 'link_down':
        this.#channelChanged(event.kind === 'link_up')
        break
      case 'message':
        if (event.message.kind === 'reserve') this.#reserve(event.message)
        else if (event.message.kind === 'abort') this.#abort(event.message)
        else this.#finishSequence(event.message, event.message.sequence)
        break
      case 'page_frame':
        this.#frame(event.frame)
        break
      case 'manifest':
        this.#manifest(event.frame)
        break
      case 'placed':
        this.#arrived(this.#inbox.placed(event.id, event.outcome))
        break
      case 'copied':
        this.#copied(event.id)
        break
      case 'acknowledged':
        this.#acknowledged(event.lease)
        break
      case 'forward_done':
        this.#stepper.done(event.result, event.seconds)
        break
      case 'scrubbed':
        this.#pages.scrubbed(event.id)
        break
      case 'swept':
        this.#swept(event.fault)
        break
    }
  }

  #reserve(message: Reserve): void {
    const identity = identityOf(message)
    // Another copy of a message that was acted on already must neither end nor double what the first began.
    if (this.#requests.has(identityKey(identity))) {
      this.#violation('reserve_twice')
      return
    }
    const { model, weights, shape, crypto, epoch } = this.#options
    const { claims } = message.ticket
    const { requestId, attempt, ids } = message
    const check = this.#gate.admit(message.ticket, { requestId, attempt, ids, model, weights, now: this.#now })
    if (check.kind === 'invalid' || message.ids.length === 0 || claims.n < 1 || claims.maxOutput < 1) {
      this.#send({ kind: 'declined', ...identity, code: declineCode(check) })
      return
    }
    const layout = contractLayout(
      { promptTokens: message.ids.length, maxOutput: claims.maxOutput, n: claims.n },
      shape.pageSize,
    )
    const opened = layout.totalPages > shape.pages ? null : this.#pages.open(identity, layoutOrdinals(layout))
    if (opened === null || !opened.ok) {
      this.#send({ kind: 'declined', ...identity, code: 'no_room' })
      return
    }
    const target = firstPages(opened.value.table, layout.promptPages)
    const lease = { id: this.#nextLease++, epoch, ...(this.#writers === null ? {} : { target }) }
    const digests = prefixDigests(message.ids, shape.pageSize, crypto.sha256)
    const arrival = this.#arrivals
    this.#arrivals += claims.n
    const request = newRequest({
      message,
      lease,
      layout,
      holding: opened.value,
      digests,
      layers: shape.layers,
      arrival,
    })
    this.#requests.set(identityKey(identity), request)
    this.#inbox.open(request)
    this.#writers?.begin(request)
    this.#send({ kind: 'reserved', requestId, attempt, lease })
  }

  #abort(identity: Identity): void {
    const request = this.#requests.get(identityKey(identity))
    if (request !== undefined) this.#end(request)
  }

  #finishSequence(identity: Identity, index: number): void {
    const request = this.#requests.get(identityKey(identity))
    const sequence = request?.sequences[index]
    if (request === undefined || sequence === undefined) return
    sequence.finished = true
    this.#endIfAllFinished(request)
  }

  #frame(frame: PageFrame): void {
    const reason = this.#inbox.frame(frame)
    // Frames of closed leases are what is left of an abort; anything else is a peer that breaks the protocol.
    if (reason !== null && reason !== 'unknown_lease' && reason !== 'closed') this.#violation(reason)
    // No honest peer can send this, whatever was lost or aborted: nothing more is taken from it.
    if (reason === 'out_of_bounds') this.#effects.push({ kind: 'close_link', reason })
  }

  #manifest(frame: ManifestFrame): void {
    const found = this.#inbox.manifest(frame)
    if (typeof found !== 'string') {
      this.#writers?.letGo(found.lease.id)
      this.#armIfComplete(found)
    } else if (found !== 'unknown_lease') this.#violation(found)
  }

  #arrived(arrival: { readonly request: DecodeRequest; readonly fault: IntegrityFault | null } | null): void {
    if (arrival === null) return
    if (arrival.fault !== null) this.#integrity(arrival.request, arrival.fault)
    else this.#armIfComplete(arrival.request)
  }

  /** The manifest is the last word of prefill: once it is here and no placing is under way, everything is there or never will be. */
  #armIfComplete(request: DecodeRequest): void {
    if (request.phase !== 'filling' || request.manifest === null || request.delivered.placing > 0) return
    const fault = this.#inbox.judge(request, request.manifest)
    if (fault !== null) this.#integrity(request, fault)
    else if (this.#inbox.copyTails(request)) request.phase = 'copying'
    else this.#arm(request)
  }

  /** The writer's last word (R6). Under a lease that is open it means that the rest will never come. */
  #acknowledged(lease: Lease): void {
    if (lease.epoch !== this.#options.epoch) return
    this.#writers?.letGo(lease.id)
    const request = this.#inbox.openUnder(lease)
    if (request?.phase === 'filling' && request.manifest === null)
      this.#fail(request, 'worker_lost', 'prefill gave the lease up')
  }

  #copied(id: number): void {
    const copied = this.#inbox.copied(id)
    if (copied?.request.phase !== 'copying') return
    if (copied.fault !== null) this.#integrity(copied.request, copied.fault)
    else this.#arm(copied.request)
  }

  #arm(request: DecodeRequest): void {
    request.phase = 'running'
    this.#send({ kind: 'armed', requestId: request.requestId, attempt: request.attempt })
  }

  /**
   * Frames under way are lost, and with them every request that still waits for some. So too when a new channel opens: prefill
   * may have learned of the old one's end later than decode, and sent into it what was reserved in between. Armed requests
   * need the channel no more.
   */
  #channelChanged(up: boolean): void {
    this.#send({ kind: 'channel', up })
    for (const request of this.#requests.values()) {
      if (request.phase === 'filling') this.#fail(request, 'worker_lost', 'the channel from prefill closed')
    }
    if (this.#writers === null) return
    this.#writers.ended()
    const from = { id: this.#nextLease, epoch: this.#options.epoch }
    if (up) this.#effects.push({ kind: 'open_leases', from })
  }

  #endIfAllFinished(request: DecodeRequest): void {
    if (request.sequences.every((sequence) => sequence.finished)) this.#end(request)
  }

  #swept(fault: { readonly page: number; readonly layer: number } | null): void {
    const holding = fault === null ? undefined : this.#pages.holderOf(fault.page)
    const request = holding === undefined ? undefined : this.#requests.get(identityKey(holding.identity))
    if (request !== undefined && fault !== null) this.#fault(request, 'R5', 'guard_row', fault.page)
  }

  #fault(request: DecodeRequest, rule: string, fault: string, page: number): void {
    this.#pages.integrityFault(request.holding, rule, fault, page < 0 ? null : page)
    this.#fail(request, 'kv_integrity', `${rule} ${fault}${page < 0 ? '' : ` page ${page}`}`)
  }

  #integrity(request: DecodeRequest, { rule, fault, page, detail }: IntegrityFault): void {
    this.#pages.integrityFault(request.holding, rule, fault, page < 0 ? null : page)
    this.#fail(request, rule === 'R4' ? 'contract_mismatch' : 'kv_integrity', `${rule} ${detail}`)
  }

  #fail(request: DecodeRequest, code: FailureCode, detail: string): void {
    if (request.phase === 'over') return
    this.#send({ kind: 'failed', requestId: request.requestId, attempt: request.attempt, code, detail })
    this.#end(request)
  }

  /**
   * Closes the lease, so that no frame is placed any more, and gives the pages up; those still held drain, and those that
   * prefill may still store into are quarantined.
   */
  #end(request: DecodeRequest): void {
    if (request.phase === 'over') return
    request.phase = 'over'
    this.#inbox.close(request)
    this.#writers?.closed(request)
    this.#pages.close(request.holding)
  }

  #violation(reason: string): void {
    this.#pages.telemetry({ kind: 'transfer_violation', reason })
  }

  #send(message: Extract<DecodeEffect, { kind: 'send' }>['message']): void {
    this.#effects.push({ kind: 'send', message })
  }
}
