import {
  type DecodeToRouter,
  type EngineEvent,
  type EngineHandle,
  type EngineRequest,
  fullFences,
  type PoolUse,
  type PrefillToRouter,
  RouterMachine,
  type ServedModel,
} from '../../cluster/index.ts'
import type { Clock, KeyedDigest } from '../../host/index.ts'
import type { DrillResult } from '../../model/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { RuntimeError } from '../errors.ts'
import type { EngineTransport } from '../transport.ts'
import type { WorkerInit, WorkerRole } from '../worker/ipc.ts'
import type { Carrier } from './carrier.ts'
import { DrillBook } from './drill-book.ts'
import { createDrillSchedule, type DrillSchedule } from './drill-schedule.ts'
import { createRouterHost, type RouterHost } from './router-host.ts'
import { type SlotOptions, STOPPED, WorkerSlot } from './slot.ts'

export interface UnitOptions {
  readonly model: string
  readonly digest: string
  readonly queuePlaces: number
  readonly queueTimeoutMs: number
  readonly ticketLifeMs: number
  readonly maxAttempts: number
  readonly ticket: KeyedDigest
  readonly clock: Clock
  readonly slot: SlotOptions
  /** Where its workers run: each in a process of its own, or both in one. */
  readonly carrier: Carrier
  readonly init: (role: WorkerRole) => Omit<WorkerInit, 'decodePort'>
  readonly pages: Readonly<Record<WorkerRole, number>>
  readonly telemetry: (event: TelemetryEvent) => void
  readonly notes: (role: WorkerRole, notes: readonly string[]) => void
  readonly integrity: 'full' | 'tags'
  readonly transport: EngineTransport
  /** Each worker's detectors are drilled so often; the first time after `offset` (0 to 1) of it. */
  readonly drills: { readonly everyMs: number; readonly offset: number }
}

/** Lives that may end without a word before the first start is given up. */
const FIRST_TRIES = 3
/** What fails a drill may be long in coming back, but a client that waits for hours is gone. */
const LONGEST_RETRY_MS = 300_000
const ROLES = ['decode', 'prefill'] as const

/** A pool nobody has used yet. */
export const unusedPool = (pages: number): PoolUse => ({
  total: pages,
  free: pages,
  owned: 0,
  draining: 0,
  quarantined: 0,
  cells: '.'.repeat(pages),
})

/** One served model: its router and its two workers. */
export class ModelUnit {
  readonly #options: UnitOptions
  readonly #router: RouterHost
  readonly #slots: Readonly<Record<WorkerRole, WorkerSlot>>
  readonly #pools: Record<WorkerRole, PoolUse>
  readonly #drills: Record<WorkerRole, DrillResult | null> = { prefill: null, decode: null }
  readonly #book: DrillBook
  readonly #schedule: DrillSchedule
  /** Over TCP; another one in each of decode's lives. */
  #decodePort: number | null = null
  #failedTries = 0
  #firstStart: { resolve(): void; reject(error: RuntimeError): void } | null = null

  constructor(given: UnitOptions) {
    const telemetry = (event: TelemetryEvent): void => {
      // An end that was asked for is nothing to report.
      if (event.kind === 'worker_down' && event.reason === STOPPED) return
      given.telemetry('model' in event ? event : ({ ...event, model: given.model } as TelemetryEvent))
    }
    const options = { ...given, telemetry }
    const { model, digest, queuePlaces, queueTimeoutMs, ticketLifeMs, maxAttempts, clock } = options
    this.#options = options
    const { integrity, transport, drills } = options
    this.#book = new DrillBook({ model, integrity, transport, everyMs: drills.everyMs, now: clock.now, telemetry })
    this.#schedule = createDrillSchedule(drills, (role) => {
      this.#book.review()
      this.#slots[role].drill()
    })
    this.#router = createRouterHost({
      router: new RouterMachine({
        model,
        weights: digest,
        fences: fullFences(),
        crypto: options.ticket,
        queuePlaces,
        queueTimeoutMs,
        ticketLifeMs,
        maxAttempts,
      }),
      clock,
      telemetry,
      toDecode: (epoch, message) => this.#slots.decode.send(epoch, message),
      toPrefill: (epoch, message) => this.#slots.prefill.send(epoch, message),
    })
    this.#slots = { prefill: this.#slot('prefill'), decode: this.#slot('decode') }
    this.#pools = { prefill: unusedPool(options.pages.prefill), decode: unusedPool(options.pages.decode) }
  }

  /** Resolves when both workers are up for the first time; rejects when one says that it cannot serve. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#firstStart = { resolve, reject }
      for (const role of ROLES) this.#slots[role].start()
    })
  }

  /** Refuses while a detector has failed its drill: what it should have caught would go through unseen (R14). */
  submit(request: EngineRequest, sink: (event: EngineEvent) => void): EngineHandle {
    if (this.#book.failed) {
      const retryAfterSeconds = Math.ceil(Math.min(this.#options.drills.everyMs, LONGEST_RETRY_MS) / 1_000)
      queueMicrotask(() => sink({ kind: 'failed', code: 'unavailable', retryAfterSeconds }))
      return { abort: () => undefined, finishSequence: () => undefined }
    }
    return this.#router.submit(request, sink)
  }

  served(): ServedModel {
    const down = ROLES.find((role) => !this.#slots[role].ready)
    const reason = down === undefined ? this.#book.objection() : `${down} ${this.#slots[down].reason}`
    return {
      id: this.#options.model,
      ready: reason === null,
      reason,
      ...this.#router.load(),
      pools: { ...this.#pools },
      detectors: this.#book.states(),
    }
  }

  /** What each worker's start-up drill found; null until it was up once. */
  drills(): Readonly<Record<WorkerRole, DrillResult | null>> {
    return { ...this.#drills }
  }

  pids(): Readonly<Record<WorkerRole, number | null>> {
    return { prefill: this.#slots.prefill.pid, decode: this.#slots.decode.pid }
  }

  restart(role: WorkerRole): void {
    this.#slots[role].kill('killed: on request')
  }

  /** Takes nothing new, waits until nothing runs or the time is up, then ends both workers and waits for their ends. */
  async stop(graceMs: number): Promise<void> {
    this.#schedule.stop()
    await this.#router.drain(graceMs)
    await Promise.all(ROLES.map((role) => this.#slots[role].stop()))
    this.#router.close()
  }

  /** Gives the first start up after so many tries; from then on a worker is tried for as long as the engine runs. */
  #failFirstStart(role: WorkerRole, code: string, reason: string, tries: number): void {
    if (!this.#firstStart) return
    this.#failedTries += tries
    if (this.#failedTries < FIRST_TRIES) return
    const details = { model: this.#options.model, role, code }
    this.#firstStart.reject(new RuntimeError({ code: 'worker_failed_to_start', message: reason, details }))
    this.#firstStart = null
  }

  #decodeListens(port: number | null): void {
    this.#decodePort = port
    this.#slots.prefill.decodePort(port)
  }

  #slot(role: WorkerRole): WorkerSlot {
    const { model, telemetry, slot, carrier, init, notes, pages } = this.#options
    return new WorkerSlot(slot, carrier, () => ({ ...init(role), decodePort: this.#decodePort }), {
      message: (epoch, message) => {
        if (role === 'decode') {
          this.#router.dispatch({ kind: 'from_decode', epoch, message: message as DecodeToRouter })
        } else this.#router.dispatch({ kind: 'from_prefill', epoch, message: message as PrefillToRouter })
      },
      telemetry,
      pool: (use) => {
        this.#pools[role] = use
      },
      loaded: (lines, drill) => {
        this.#drills[role] = drill
        notes(role, lines)
      },
      drilled: (findings) => this.#book.drilled(role, findings),
      listening: (port) => this.#decodeListens(port),
      up: () => {
        if (!ROLES.every((each) => this.#slots[each].ready)) return
        const objection = this.#book.objection()
        if (objection === null) this.#firstStart?.resolve()
        else this.#failFirstStart(role, 'drill_failed', objection, FIRST_TRIES)
        this.#firstStart = null
      },
      down: (epoch, reason, wasReady) => {
        // The next life begins with an empty pool.
        this.#pools[role] = unusedPool(pages[role])
        this.#book.forget(role)
        if (role === 'decode') this.#decodeListens(null)
        // The router tells of those it knew; one that ended before its hello is told of here.
        if (!wasReady) telemetry({ kind: 'worker_down', role, model, epoch, reason })
        this.#router.dispatch({ kind: 'worker_down', role, epoch, reason })
        if (!wasReady) this.#failFirstStart(role, 'ended', reason, 1)
      },
      refused: (code, reason) => {
        // It said so itself: another try would say the same.
        this.#failFirstStart(role, code, reason, FIRST_TRIES)
      },
    })
  }
}
