import type { DecodeToRouter, PoolUse, PrefillToRouter, RouterToDecode, RouterToPrefill } from '../../cluster/index.ts'
import type { Clock } from '../../host/index.ts'
import type { DrillResult } from '../../model/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { DrillFinding } from '../drills/index.ts'
import type { FromWorker, ToWorker, WorkerInit } from '../worker/ipc.ts'
import type { Carrier, Life } from './carrier.ts'
import { createRestartPolicy } from './restarts.ts'

export interface SlotEvents {
  message(epoch: number, message: DecodeToRouter | PrefillToRouter): void
  telemetry(event: TelemetryEvent): void
  pool(use: PoolUse): void
  loaded(notes: readonly string[], drill: DrillResult): void
  drilled(findings: readonly DrillFinding[]): void
  /** Decode, over TCP: where it listens. */
  listening(port: number): void
  /** It said hello: it can serve. */
  up(epoch: number): void
  /** Every thread of this life is known ended; nothing of this epoch follows. */
  down(epoch: number, reason: string, wasReady: boolean): void
  /** It says itself why it cannot serve. */
  refused(code: string, reason: string): void
}

export interface SlotOptions {
  readonly clock: Clock
  /** A worker that answers no ping for so long, or whose pass runs longer, is killed. */
  readonly hungMs: number
  readonly passMs: number
  /** A worker that is not up by then is killed. */
  readonly startMs: number
}

/** The reason of an end that was asked for. */
export const STOPPED = 'stopped'
const PING_MS = 1_000
/** More than a worker takes to end by itself. */
const STOP_MS = 3_000

/** Keeps one worker alive: one life at a time, a new one as soon as the old one is known ended. */
export class WorkerSlot {
  readonly #options: SlotOptions
  readonly #carrier: Carrier
  readonly #init: () => WorkerInit
  readonly #events: SlotEvents
  readonly #restarts = createRestartPolicy()
  #life: Life | null = null
  #epoch = 0
  #ready = false
  #reason = 'starting'
  /** What it said of its end, or what it was killed for; an exit code says less. */
  #cause: string | null = null
  #startedAt = 0
  #heardAt = 0
  #pingedAt = 0
  #pings: NodeJS.Timeout | null = null
  #restart: NodeJS.Timeout | null = null
  #turn = 0
  #stopped = false
  #ended: (() => void) | null = null

  /** `init` is asked anew for each life. */
  constructor(options: SlotOptions, carrier: Carrier, init: () => WorkerInit, events: SlotEvents) {
    this.#options = options
    this.#carrier = carrier
    this.#init = init
    this.#events = events
  }

  get ready(): boolean {
    return this.#ready
  }

  /** Why it is not ready, in a phrase. */
  get reason(): string {
    return this.#reason
  }

  get pid(): number | null {
    return this.#life?.pid ?? null
  }

  start(): void {
    if (this.#stopped) return
    const init = this.#init()
    this.#epoch = init.epoch
    this.#turn = 0
    this.#ready = false
    this.#cause = null
    this.#startedAt = this.#options.clock.now()
    this.#heardAt = this.#startedAt
    const life: Life = this.#carrier.begin(init, {
      message: (message) => {
        if (this.#life === life) this.#hear(message)
      },
      ended: (how) => this.#over(life, how),
    })
    this.#life = life
    this.#pings = setInterval(() => this.#ping(), PING_MS)
  }

  /** Dropped when that life is over. */
  send(epoch: number, message: RouterToDecode | RouterToPrefill): void {
    if (epoch === this.#epoch) this.#tell({ kind: 'message', message })
  }

  /** Tells prefill where decode listens. */
  decodePort(port: number | null): void {
    this.#tell({ kind: 'decode_port', port })
  }

  /** Asks the worker to drill its detectors; one that is not up drills itself when it comes up. */
  drill(): void {
    if (!this.#ready) return
    this.#turn += 1
    this.#tell({ kind: 'drill', turn: this.#turn })
  }

  /** Ends this life, whatever it is doing; the next one begins as after any end. */
  kill(reason: string): void {
    this.#cause = reason
    this.#life?.kill(reason)
  }

  /** Lets the worker end and waits until it is gone. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cause = STOPPED
    if (this.#restart) clearTimeout(this.#restart)
    const life = this.#life
    if (!life) return
    const gone = new Promise<void>((resolve) => {
      this.#ended = resolve
    })
    life.stop()
    const timer = setTimeout(() => life.kill(STOPPED), STOP_MS)
    await gone
    clearTimeout(timer)
  }

  #tell(message: ToWorker): void {
    this.#life?.send(message)
  }

  #hear(message: FromWorker): void {
    this.#heardAt = this.#options.clock.now()
    switch (message.kind) {
      case 'out':
        for (const event of message.telemetry) this.#events.telemetry(event)
        for (const each of message.messages) {
          if (each.kind === 'hello') this.#isUp()
          this.#events.message(this.#epoch, each)
        }
        return
      case 'pool':
        this.#events.pool(message.use)
        return
      case 'loaded':
        this.#events.loaded(message.notes, message.drill)
        return
      case 'drilled':
        this.#events.drilled(message.findings)
        return
      case 'listening':
        this.#events.listening(message.port)
        return
      case 'pong':
        if (message.passMs > this.#options.passMs) this.kill('killed: a pass ran too long')
        return
      case 'refused':
        this.#cause = message.reason
        this.#events.refused(message.code, message.reason)
        return
    }
  }

  #isUp(): void {
    this.#ready = true
    this.#reason = ''
    this.#events.up(this.#epoch)
  }

  #ping(): void {
    const now = this.#options.clock.now()
    // This process was held up itself: what the worker said meanwhile has not been read yet.
    if (now - this.#pingedAt > 2 * PING_MS) this.#heardAt = now
    this.#pingedAt = now
    const silentMs = now - this.#heardAt
    // Loading blocks a worker's threads; until it is up only the time of the whole start counts.
    if (silentMs > (this.#ready ? this.#options.hungMs : this.#options.startMs)) this.kill('killed: no answer')
    else this.#tell({ kind: 'ping', id: 0 })
  }

  #over(ended: Life, how: string): void {
    if (this.#life !== ended) return
    this.#life = null
    if (this.#pings) clearInterval(this.#pings)
    const life = { wasReady: this.#ready, livedMs: this.#options.clock.now() - this.#startedAt }
    this.#ready = false
    const cause = this.#cause ?? how
    this.#reason = `restarting: ${cause}`
    this.#events.down(this.#epoch, cause, life.wasReady)
    if (this.#stopped) {
      this.#ended?.()
      return
    }
    const delay = this.#restarts.next(life)
    if (delay === 0) this.start()
    else this.#restart = setTimeout(() => this.start(), delay)
  }
}
