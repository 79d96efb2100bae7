import {
  type EngineEvent,
  type EngineHandle,
  type EngineRequest,
  fullFences,
  type PoolUse,
  type RouterEffect,
  type RouterEvent,
  RouterMachine,
  type ServedModel,
} from '../../cluster/index.ts'
import type { Clock, KeyedDigest } from '../../host/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { RuntimeError } from '../errors.ts'
import { createDriver } from '../worker/driver.ts'
import type { WorkerInit, WorkerRole } from '../worker/ipc.ts'
import { type SlotOptions, WorkerSlot } from './slot.ts'

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
  readonly init: (role: WorkerRole) => WorkerInit
  readonly pages: Readonly<Record<WorkerRole, number>>
  readonly telemetry: (event: TelemetryEvent) => void
  readonly notes: (role: WorkerRole, notes: readonly string[]) => void
}

const ROLES = ['decode', 'prefill'] as const

const unused = (pages: number): PoolUse => ({
  total: pages,
  free: pages,
  owned: 0,
  draining: 0,
  quarantined: 0,
  cells: '.'.repeat(pages),
})

/** One served model: its router, its two workers, and who waits for which answer. */
export class ModelUnit {
  readonly #options: UnitOptions
  readonly #router: RouterMachine
  readonly #dispatch: (event: RouterEvent) => void
  readonly #slots: Readonly<Record<WorkerRole, WorkerSlot>>
  readonly #pools: Record<WorkerRole, PoolUse>
  readonly #sinks = new Map<string, (event: EngineEvent) => void>()
  #timer: NodeJS.Timeout | null = null
  #firstStart: { resolve(): void; reject(error: RuntimeError): void } | null = null
  #idle: (() => void) | null = null
  #stopping = false

  constructor(options: UnitOptions) {
    this.#options = options
    this.#router = new RouterMachine({
      model: options.model,
      weights: options.digest,
      fences: fullFences(),
      crypto: options.ticket,
      queuePlaces: options.queuePlaces,
      queueTimeoutMs: options.queueTimeoutMs,
      ticketLifeMs: options.ticketLifeMs,
      maxAttempts: options.maxAttempts,
    })
    this.#dispatch = createDriver<RouterEvent, RouterEffect>(this.#router, (effect) => this.#execute(effect)).dispatch
    this.#slots = { prefill: this.#slot('prefill'), decode: this.#slot('decode') }
    this.#pools = { prefill: unused(options.pages.prefill), decode: unused(options.pages.decode) }
  }

  /** Resolves when both workers are up for the first time; rejects when one says that it cannot serve. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#firstStart = { resolve, reject }
      for (const role of ROLES) this.#slots[role].start()
    })
  }

  submit(request: EngineRequest, sink: (event: EngineEvent) => void): EngineHandle {
    const { requestId } = request
    const now = this.#options.clock.now
    if (this.#stopping || this.#sinks.has(requestId)) {
      queueMicrotask(() => sink({ kind: 'failed', code: 'unavailable', retryAfterSeconds: 1 }))
      return { abort: () => undefined, finishSequence: () => undefined }
    }
    this.#sinks.set(requestId, sink)
    // Later, so that no event reaches the sink before its owner holds the handle; events of one request stay in order.
    const post = (event: RouterEvent): void => queueMicrotask(() => this.#dispatch(event))
    post({ kind: 'submit', request, now: now() })
    return {
      abort: () => post({ kind: 'abort', requestId, now: now() }),
      finishSequence: (sequence) => post({ kind: 'finish_sequence', requestId, sequence, now: now() }),
    }
  }

  served(): ServedModel {
    const down = ROLES.find((role) => !this.#slots[role].ready)
    return {
      id: this.#options.model,
      ready: down === undefined,
      reason: down === undefined ? null : `${down} ${this.#slots[down].reason}`,
      ...this.#router.load(),
      pools: { ...this.#pools },
    }
  }

  pids(): Readonly<Record<WorkerRole, number | null>> {
    return { prefill: this.#slots.prefill.pid, decode: this.#slots.decode.pid }
  }

  /** Takes nothing new, waits until nothing runs or the time is up, then ends both workers and waits for their ends. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    if (this.#sinks.size > 0 && graceMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs)
        this.#idle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    await Promise.all(ROLES.map((role) => this.#slots[role].stop()))
    // What the router still waited to retry has no worker to come to any more.
    for (const sink of this.#sinks.values()) sink({ kind: 'failed', code: 'unavailable', retryAfterSeconds: null })
    this.#sinks.clear()
    if (this.#timer) clearTimeout(this.#timer)
  }

  #slot(role: WorkerRole): WorkerSlot {
    const { clock, model, telemetry } = this.#options
    return new WorkerSlot(this.#options.slot, () => this.#options.init(role), {
      message: (epoch, message) =>
        this.#dispatch({
          kind: role === 'decode' ? 'from_decode' : 'from_prefill',
          epoch,
          message,
          now: clock.now(),
        } as RouterEvent),
      telemetry,
      pool: (use) => {
        this.#pools[role] = use
      },
      notes: (notes) => this.#options.notes(role, notes),
      up: () => {
        if (ROLES.every((each) => this.#slots[each].ready)) {
          this.#firstStart?.resolve()
          this.#firstStart = null
        }
      },
      down: (epoch, reason, wasReady) => {
        // The pool died with its process; the next life begins with an empty one.
        this.#pools[role] = unused(this.#options.pages[role])
        // The router tells of those it knew; one that ended before its hello is told of here.
        if (!wasReady) telemetry({ kind: 'worker_down', role, model, epoch, reason })
        this.#dispatch({ kind: 'worker_down', role, epoch, reason, now: clock.now() })
      },
      refused: (code, reason) => {
        this.#firstStart?.reject(
          new RuntimeError({ code: 'worker_failed_to_start', message: reason, details: { model, role, code } }),
        )
        this.#firstStart = null
      },
    })
  }

  #execute(effect: RouterEffect): void {
    switch (effect.kind) {
      case 'to_decode':
        this.#slots.decode.send(effect.epoch, effect.message)
        return
      case 'to_prefill':
        this.#slots.prefill.send(effect.epoch, effect.message)
        return
      case 'telemetry':
        this.#options.telemetry(effect.event)
        return
      case 'set_timer':
        this.#setTimer(effect.at)
        return
      case 'deliver':
        this.#deliver(effect.requestId, effect.event)
        return
    }
  }

  #setTimer(at: number | null): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (at === null) return
    const now = this.#options.clock.now
    this.#timer = setTimeout(() => this.#dispatch({ kind: 'tick', now: now() }), Math.max(0, Math.ceil(at - now())))
  }

  #deliver(requestId: string, event: EngineEvent): void {
    const sink = this.#sinks.get(requestId)
    const over = event.kind === 'done' || event.kind === 'failed'
    if (over) this.#sinks.delete(requestId)
    sink?.(event)
    if (over && this.#sinks.size === 0) this.#idle?.()
  }
}
