import type { LedgerFault, PoolCounts, PrefixNode } from '../../kv/index.ts'
import type { PrefillEffect } from '../effects.ts'
import type { PrefillEvent } from '../events.ts'
import { identityKey, identityOf } from '../identity.ts'
import type { Prefiller } from '../machines.ts'
import type { FailureCode, Identity, LeaseClosed, Prefill } from '../messages.ts'
import type { PrefillOptions } from '../options.ts'
import type { PoolUse } from '../port.ts'
import { WorkerPages } from '../worker/pages.ts'
import { Chunker } from './chunker.ts'
import { Intake } from './intake.ts'
import type { PrefillJob } from './job.ts'
import { Leases } from './leases.ts'
import { Outbox } from './outbox.ts'
import { PrefixCache } from './prefix-cache.ts'

/**
 * Computes prompts in chunks and sends their pages, layer by layer, to decode. Never samples. Holds every page until the
 * pass that writes it and the send that reads it are over, and says `released` exactly once per request, when all are home.
 */
export class PrefillMachine implements Prefiller {
  readonly #options: PrefillOptions
  readonly #pages: WorkerPages
  readonly #outbox: Outbox
  readonly #chunker: Chunker
  readonly #prefixes: PrefixCache | null
  /** Null over a socket, where decode refuses by itself what comes under a lease that is over. */
  readonly #leases: Leases | null
  readonly #intake: Intake
  readonly #jobs = new Map<string, PrefillJob>()
  #linkUp = false
  #now = 0
  #effects: PrefillEffect[] = []

  constructor(options: PrefillOptions) {
    const emit = (effect: PrefillEffect): void => {
      this.#effects.push(effect)
    }
    this.#options = options
    this.#pages = new WorkerPages('prefill', options, emit)
    this.#outbox = new Outbox(options, this.#pages, emit)
    const { prefixCache } = options
    this.#prefixes = prefixCache === undefined ? null : new PrefixCache(options, prefixCache, this.#pages, emit)
    this.#leases = options.transport === 'shared' ? new Leases() : null
    this.#intake = new Intake(options, this.#pages, this.#prefixes, this.#leases)
    this.#chunker = new Chunker(options, this.#pages, emit, {
      advance: (job, layer, rows) => this.#advance(job, layer, rows),
      complete: (job) => this.#complete(job),
      fault: (job, rule, fault, page) => this.#integrity(job, rule, fault, page),
    })
  }

  step(event: PrefillEvent): PrefillEffect[] {
    this.#now = event.now
    this.#effects = []
    this.#on(event)
    this.#chunker.plan(this.#jobs.values())
    this.#clearEnded()
    for (const holding of this.#pages.settle()) {
      this.#jobs.delete(identityKey(holding.identity))
      const { requestId, attempt } = holding.identity
      this.#send({ kind: 'released', requestId, attempt })
    }
    return this.#effects
  }

  poolUse(): PoolUse {
    const use = this.#pages.use()
    return this.#prefixes === null ? use : { ...use, ...this.#prefixes.use() }
  }

  poolCounts(): PoolCounts {
    return this.#pages.counts()
  }

  /** R7 in full, O(pages); null when every page is accounted for. */
  audit(): LedgerFault | null {
    return this.#pages.audit()
  }

  #on(event: PrefillEvent): void {
    switch (event.kind) {
      case 'start': {
        const { model, weights, epoch, shape } = this.#options
        this.#send({ kind: 'hello', role: 'prefill', model, weights, epoch, shape })
        break
      }
      case 'link_up':
        this.#linkUp = true
        if (event.from !== undefined) this.#leases?.openFrom(event.from)
        this.#send({ kind: 'channel', up: true })
        break
      case 'link_down':
        this.#linkDown()
        break
      case 'message':
        if (event.message.kind === 'prefill') this.#accept(event.message)
        else this.#abort(event.message)
        break
      case 'peer':
        this.#leaseClosed(event.message)
        break
      case 'layer_done':
        this.#chunker.layerDone(event.planId, event.layer)
        break
      case 'forward_done':
        this.#chunker.done(event.result, event.seconds)
        break
      case 'page_sent':
        this.#sent(event.id, event.fault)
        break
      case 'page_published':
        this.#published(event.id, event.guarded, event.seals)
        break
      case 'page_verified':
        this.#verified(event.id, event.ok)
        break
      case 'flush_prefixes':
        this.#prefixes?.flush()
        break
      case 'scrubbed':
        this.#pages.scrubbed(event.id)
        break
      case 'swept':
        this.#swept(event.fault)
        break
    }
  }

  #accept(message: Prefill): void {
    const identity = identityOf(message)
    // Another copy of a message that was acted on already must neither end nor double what the first began.
    if (this.#jobs.has(identityKey(identity))) {
      this.#violation('prefill_twice')
      return
    }
    const objection = this.#intake.objection(message, this.#now)
    if (objection !== null) {
      this.#send({ kind: 'declined', ...identity, code: objection })
      return
    }
    if (!this.#linkUp) {
      this.#send({ kind: 'failed', ...identity, code: 'worker_lost', detail: 'no channel to decode' })
      this.#send({ kind: 'released', ...identity })
      return
    }
    const job = this.#intake.open(message)
    if (job === null) {
      this.#send({ kind: 'declined', ...identity, code: 'no_room' })
      return
    }
    this.#jobs.set(identityKey(identity), job)
    job.verifying = this.#prefixes?.verify(job) ?? 0
    job.busy += job.verifying
    if (job.verifying === 0) this.#borrowedStand(job)
  }

  /** R8: one borrowed page is, or is not, what was published. Fails closed: a request that met a bad page gets an error. */
  #verified(id: number, ok: boolean): void {
    const verified = this.#prefixes?.verified(id) ?? null
    if (verified === null) return
    const { job, node } = verified
    job.busy--
    job.verifying--
    if (!ok) this.#integrity(job, 'R8', 'bad_seal', node.view.page)
    if (job.verifying === 0 && !job.over) this.#borrowedStand(job)
  }

  #published(id: number, guarded: boolean, seals: readonly Uint8Array[]): void {
    const node = this.#prefixes?.published(id, seals) ?? null
    if (node !== null && !guarded) this.#condemn(node, 'R5', 'guard_row', null)
  }

  #borrowedStand(job: PrefillJob): void {
    job.computed = job.borrowed.length * this.#options.shape.pageSize
    for (let layer = 0; layer < this.#options.shape.layers; layer++) this.#advance(job, layer, job.computed)
  }

  #abort(identity: Identity): void {
    const job = this.#jobs.get(identityKey(identity))
    if (job !== undefined) this.#end(job, 'aborted')
  }

  #leaseClosed(message: LeaseClosed): void {
    const { lease } = message
    for (const job of this.#jobs.values())
      if (job.lease.id === lease.id && job.lease.epoch === lease.epoch) this.#end(job, 'aborted')
    if (this.#leases !== null) this.#giveUp(message)
  }

  /** Nothing is stored under this lease any more, and decode hears so behind whatever was. */
  #giveUp(closed: LeaseClosed): void {
    this.#leases?.spend(closed)
    this.#outbox.acknowledge(closed.lease)
  }

  /**
   * A page found wrong ends its request. One whose lease is gone was not looked at: what to make of it is for decode to say, which
   * closed the lease, or else never meant the page that it named.
   */
  #sent(id: number, fault: Extract<PrefillEvent, { kind: 'page_sent' }>['fault']): void {
    const sent = this.#outbox.sent(id)
    if (sent === undefined || sent.job.over || fault === undefined) return
    if (fault === 'lease_gone') {
      this.#end(sent.job, 'aborted')
      this.#giveUp({ kind: 'lease_closed', lease: sent.job.lease })
    } else this.#integrity(sent.job, 'R5', fault, sent.page)
  }

  #linkDown(): void {
    this.#linkUp = false
    this.#send({ kind: 'channel', up: false })
    for (const job of this.#jobs.values()) if (!job.over) this.#fail(job, 'worker_lost', 'the channel to decode closed')
    this.#outbox.linkDown()
  }

  #complete(job: PrefillJob): void {
    this.#outbox.manifest(job)
    const cachedTokens = job.borrowed.length * this.#options.shape.pageSize
    this.#send({ kind: 'prefilled', requestId: job.requestId, attempt: job.attempt, cachedTokens })
    this.#end(job, 'complete')
  }

  #advance(job: PrefillJob, layer: number, rows: number): void {
    const fault = job.over ? null : this.#outbox.advance(job, layer, rows)
    if (fault !== null) this.#integrity(job, 'R5', fault.code, fault.details.page)
  }

  #swept(fault: { readonly page: number; readonly layer: number } | null): void {
    if (fault === null) return
    const holding = this.#pages.holderOf(fault.page)
    const job = holding === undefined ? undefined : this.#jobs.get(identityKey(holding.identity))
    const node = this.#prefixes?.nodeAt(fault.page)
    if (job !== undefined) this.#integrity(job, 'R5', 'guard_row', fault.page)
    else if (node !== undefined) this.#condemn(node, 'R5', 'guard_row', null)
  }

  #integrity(job: PrefillJob, rule: string, fault: string, page: number | null): void {
    const node = job.borrowed.find((one) => one.view.page === page)
    if (node === undefined) this.#pages.integrityFault(job.holding, rule, fault, page)
    else this.#condemn(node, rule, fault, job)
    this.#fail(job, 'kv_integrity', `${rule} ${fault}${page === null ? '' : ` page ${page}`}`)
    if (page === null && fault === 'not_finite') {
      // Nothing says which page it was: those that it borrowed are as suspect as its own.
      for (const each of [...job.borrowed].reverse()) this.#condemn(each, rule, fault, job)
    }
  }

  #fail(job: PrefillJob, code: FailureCode, detail: string): void {
    // Of one that was complete nothing is said any more, but nothing is published either.
    if (!job.over) this.#send({ kind: 'failed', requestId: job.requestId, attempt: job.attempt, code, detail })
    this.#end(job, 'aborted')
  }

  /** A published page is bad: nobody finds it any more, and whoever has begun to read it ends with an error. */
  #condemn(node: PrefixNode, rule: string, fault: string, finder: PrefillJob | null): void {
    const { page, owner } = node.view
    const requestId = finder?.requestId ?? ''
    this.#pages.telemetry({ kind: 'integrity_fault', role: 'prefill', rule, fault, page, owner, requestId })
    this.#prefixes?.condemn(node, fault, finder?.holding ?? null)
    for (const job of this.#jobs.values()) {
      if (job.borrowed.includes(node)) this.#fail(job, 'kv_integrity', `${rule} ${fault} page ${page}`)
    }
  }

  /**
   * Nothing new begins for this request. What is under way runs out, and its pages drain until then; those that may be
   * published wait for it (R11). One that was complete and is aborted after all publishes nothing any more.
   */
  #end(job: PrefillJob, ending: PrefillJob['ending']): void {
    job.over = true
    job.ending = ending
    this.#pages.close(job.holding, job.cleared ? undefined : this.#prefixes?.candidates(job))
  }

  /** Nothing can touch the pages of these any more: what may be is published, the rest and what was borrowed given back. */
  #clearEnded(): void {
    if (this.#prefixes === null) return
    for (const job of this.#jobs.values()) {
      if (!job.over || job.cleared || job.busy > 0) continue
      job.cleared = true
      this.#prefixes.publish(job)
      this.#pages.close(job.holding)
      this.#prefixes.giveBack(job.borrowed)
      if (job.borrowed.length > 0) this.#pages.settleOne(job.holding)
    }
  }

  #violation(reason: string): void {
    this.#pages.telemetry({ kind: 'transfer_violation', reason })
  }

  #send(message: Extract<PrefillEffect, { kind: 'send' }>['message']): void {
    this.#effects.push({ kind: 'send', message })
  }
}
