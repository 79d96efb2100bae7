import type { RouterEffect } from '../effects.ts'
import type { RouterEvent } from '../events.ts'
import { identityOf } from '../identity.ts'
import type { Router } from '../machines.ts'
import type {
  ChannelState,
  DeclineCode,
  DecodeToRouter,
  Identity,
  Lease,
  PrefillToRouter,
  WorkerHello,
} from '../messages.ts'
import type { RouterOptions } from '../options.ts'
import type { EngineEvent, EngineRequest } from '../port.ts'
import { allFinished, type Entry, entryIdentity, finishSequence, newEntry, takeToken } from './entry.ts'
import { type Failure, failure } from './failure.ts'
import { ticketOf } from './issue.ts'
import { FairQueue } from './queue.ts'
import { type WorkerRole, Workers } from './workers.ts'

/**
 * One model's requests between gateway and workers: queue, dispatch, ending. Every submitted request gets exactly one
 * `done` or `failed`, and nothing after it; what the workers still say of it then is answered with `abort` and forgotten.
 */
export class RouterMachine implements Router {
  readonly #options: RouterOptions
  readonly #entries = new Map<string, Entry>()
  readonly #queue = new FairQueue<Entry>()
  readonly #workers: Workers
  #timer: number | null = null
  #now = 0
  #effects: RouterEffect[] = []

  constructor(options: RouterOptions) {
    this.#options = options
    this.#workers = new Workers(options.model, (effect) => this.#effects.push(effect))
  }

  step(event: RouterEvent): RouterEffect[] {
    this.#now = event.now
    this.#effects = []
    this.#on(event)
    this.#dispatch()
    this.#setTimer()
    return this.#effects
  }

  load(): { readonly waiting: number; readonly running: number } {
    return { waiting: this.#queue.size, running: this.#entries.size - this.#queue.size }
  }

  #on(event: RouterEvent): void {
    switch (event.kind) {
      case 'submit':
        this.#submit(event.request)
        break
      case 'abort':
        this.#abort(event.requestId)
        break
      case 'finish_sequence':
        this.#finishSequence(event.requestId, event.sequence)
        break
      case 'from_prefill':
        if (event.message.kind === 'hello') this.#workerUp(event.message)
        else if (this.#workers.epoch('prefill') !== event.epoch) break
        else if (event.message.kind === 'channel') this.#workers.channel('prefill', event.message.up)
        else this.#fromPrefill(event.message)
        break
      case 'from_decode':
        if (event.message.kind === 'hello') this.#workerUp(event.message)
        else if (this.#workers.epoch('decode') !== event.epoch) break
        else if (event.message.kind === 'channel') this.#workers.channel('decode', event.message.up)
        else this.#fromDecode(event.message)
        break
      case 'worker_down':
        if (this.#workers.epoch(event.role) === event.epoch) this.#workerDown(event.role, event.reason)
        break
      case 'tick':
        this.#timer = null
        this.#expire()
        break
    }
  }

  #submit(request: EngineRequest): void {
    // The gateway makes the ids; a second request of the same name would share the first one's ending.
    if (this.#entries.has(request.requestId)) return
    const entry = newEntry(request, this.#now)
    if (this.#queue.size >= this.#options.queuePlaces) {
      this.#deliver(request.requestId, failure('queue_full'))
      return
    }
    this.#entries.set(request.requestId, entry)
    this.#queue.push(entry)
    this.#dispatch()
    if (entry.phase === 'queued' && this.#entries.has(request.requestId))
      this.#deliver(request.requestId, { kind: 'queued' })
  }

  /** The gateway needs no more of it: over at once here, and told to both workers. */
  #abort(requestId: string): void {
    const entry = this.#entries.get(requestId)
    if (entry !== undefined) this.#end(entry, { kind: 'done' })
  }

  #finishSequence(requestId: string, index: number): void {
    const entry = this.#entries.get(requestId)
    if (entry === undefined || !finishSequence(entry, index)) return
    if (allFinished(entry)) this.#conclude(entry)
    else this.#workers.toDecode({ kind: 'finish_sequence', ...entryIdentity(entry), sequence: index })
  }

  /** Sends heads of the queue while both pools have room for their whole contract. */
  #dispatch(): void {
    while (this.#workers.joined) {
      const entry = this.#queue.peek()
      const room = entry === undefined ? 'later' : this.#workers.room(entry.request.contract)
      if (entry === undefined || room === 'later') return
      // A pool that came back smaller: waiting would hold up everyone behind it, for nothing.
      if (room === 'never') this.#end(entry, failure('unavailable'))
      else this.#begin(entry)
    }
  }

  #begin(entry: Entry): void {
    this.#queue.shift()
    entry.attempt++
    entry.phase = 'reserving'
    entry.prefilled = false
    entry.ticket = ticketOf(entry, this.#options, this.#now)
    const identity = entryIdentity(entry)
    const { ids, sampling, endIds, contract } = entry.request
    this.#workers.take(identity, contract)
    const { requestId, attempt } = identity
    this.#workers.toDecode({ kind: 'reserve', requestId, attempt, ticket: entry.ticket, ids, sampling, endIds })
  }

  #fromDecode(message: Exclude<DecodeToRouter, WorkerHello | ChannelState>): void {
    if (message.kind === 'released' || message.kind === 'declined') this.#workers.giveBack('decode', message)
    const entry = this.#named(message)
    if (entry === undefined) {
      // A reservation nobody waits for any more: decode hears (again) that it is over.
      if (message.kind === 'reserved')
        this.#workers.toDecode({ kind: 'abort', requestId: message.requestId, attempt: message.attempt })
      return
    }
    switch (message.kind) {
      case 'reserved':
        this.#reserved(entry, message.lease)
        break
      case 'declined':
        this.#declined(entry, message.code)
        break
      case 'armed':
        if (entry.phase !== 'prefilling') break
        entry.phase = 'running'
        this.#deliver(message.requestId, { kind: 'started' })
        break
      case 'token':
        this.#token(entry, message)
        break
      case 'finished':
        this.#finished(entry, message)
        break
      case 'failed':
        this.#failed(entry, message.code)
        break
      case 'released':
        break
    }
  }

  #fromPrefill(message: Exclude<PrefillToRouter, WorkerHello | ChannelState>): void {
    if (message.kind === 'released' || message.kind === 'declined') this.#workers.giveBack('prefill', message)
    const entry = this.#named(message)
    if (entry === undefined) return
    if (message.kind === 'prefilled') this.#prefilled(entry, message.cachedTokens)
    else if (message.kind === 'declined') this.#declined(entry, message.code)
    // Once everything was sent, decode judges what arrived.
    else if (message.kind === 'failed' && entry.phase === 'prefilling' && !entry.prefilled)
      this.#failed(entry, message.code)
  }

  #reserved(entry: Entry, lease: Lease): void {
    const { ticket } = entry
    if (entry.phase !== 'reserving' || ticket === null) return
    entry.phase = 'prefilling'
    const { ids } = entry.request
    const { requestId, attempt } = entryIdentity(entry)
    this.#workers.toPrefill({ kind: 'prefill', requestId, attempt, ticket, ids, lease })
  }

  #prefilled(entry: Entry, cachedTokens: number): void {
    if (entry.prefilled) return
    entry.prefilled = true
    if (cachedTokens > 0) this.#deliver(entry.request.requestId, { kind: 'cached', tokens: cachedTokens })
    if (entry.concluding) this.#end(entry, { kind: 'done' })
  }

  /** All sequences have ended. Prefill's last word may still be under way on its own line: `done` waits, unless that line is gone. */
  #conclude(entry: Entry): void {
    if (entry.phase !== 'running' || entry.prefilled) this.#end(entry, { kind: 'done' })
    else entry.concluding = true
  }

  #declined(entry: Entry, code: DeclineCode): void {
    if (entry.phase !== 'reserving' && entry.phase !== 'prefilling') return
    if (code === 'no_room') this.#againOr(entry, 'unavailable')
    else if (code === 'lease_over') this.#againOr(entry, 'worker_lost')
    else this.#end(entry, failure(code === 'bad_ticket' ? 'bad_ticket' : 'internal'))
  }

  #token(entry: Entry, message: Extract<DecodeToRouter, { kind: 'token' }>): void {
    const taken = takeToken(entry, message)
    if (taken === 'broken') this.#end(entry, failure('internal'))
    if (taken !== 'next') return
    const { sequence, index, sampled } = message
    this.#deliver(entry.request.requestId, { kind: 'token', sequence, index, sampled })
  }

  #finished(entry: Entry, { sequence, reason }: Extract<DecodeToRouter, { kind: 'finished' }>): void {
    if (entry.phase !== 'running' || !finishSequence(entry, sequence)) return
    this.#deliver(entry.request.requestId, { kind: 'sequence_finished', sequence, reason })
    if (allFinished(entry)) this.#conclude(entry)
  }

  #failed(entry: Entry, code: Failure): void {
    if (code === 'worker_lost' && entry.phase !== 'running') this.#againOr(entry, code)
    else this.#end(entry, failure(code))
  }

  /** A new life for one that has not started: nothing of it was seen outside, and its ids are all it needs. */
  #againOr(entry: Entry, code: Failure): void {
    if (entry.attempt >= this.#options.maxAttempts) {
      this.#end(entry, failure(code))
      return
    }
    this.#leaveWorkers(entry)
    entry.phase = 'queued'
    entry.waitingSince = this.#now
    this.#queue.pushFront(entry)
  }

  #workerUp(hello: WorkerHello): void {
    const { role, epoch } = hello
    if (!this.#workers.isNew(hello, this.#options.weights)) return
    if (this.#workers.epoch(role) !== null) this.#workerDown(role, 'replaced')
    this.#workers.up(role, epoch, hello.shape.pages)
  }

  /** Its pages died with its process. What had started there fails; what had not lives again. */
  #workerDown(role: WorkerRole, reason: string): void {
    this.#workers.down(role, reason)
    for (const entry of [...this.#entries.values()]) {
      if (role === 'prefill' && entry.phase === 'running') entry.prefilled = true // what was cached stays unsaid
      const hit = entry.phase !== 'queued' && (role === 'decode' || (entry.phase !== 'running' && !entry.prefilled))
      if (entry.concluding) this.#end(entry, { kind: 'done' })
      else if (hit) this.#failed(entry, 'worker_lost')
    }
  }

  #expire(): void {
    const code = this.#workers.joined ? 'queue_timeout' : 'unavailable'
    for (const entry of this.#queue.overdue(this.#options.queueTimeoutMs, this.#now)) this.#end(entry, failure(code))
  }

  /** R12: the one ending. The entry is gone before anything else can be said of it. */
  #end(entry: Entry, ending: EngineEvent): void {
    const { requestId } = entry.request
    if (!this.#entries.delete(requestId)) return
    if (entry.phase === 'queued') this.#queue.remove(entry)
    else this.#leaveWorkers(entry)
    this.#deliver(requestId, ending)
  }

  #leaveWorkers(entry: Entry): void {
    this.#workers.leave(entryIdentity(entry), entry.phase !== 'reserving')
    entry.ticket = null
  }

  /** R10: the request that this message is about, if it names its present attempt. One that waits again has none. */
  #named(message: Identity): Entry | undefined {
    const entry = this.#entries.get(message.requestId)
    if (entry === undefined || entry.phase === 'queued') return undefined
    return this.#options.fences.identity(entryIdentity(entry), identityOf(message)) ? entry : undefined
  }

  #setTimer(): void {
    const oldest = this.#queue.oldest()
    const at = oldest === null ? null : oldest + this.#options.queueTimeoutMs
    if (at === this.#timer) return
    this.#timer = at
    this.#effects.push({ kind: 'set_timer', at })
  }

  #deliver(requestId: string, event: EngineEvent): void {
    this.#effects.push({ kind: 'deliver', requestId, event })
  }
}
