import { type ChildProcess, fork } from 'node:child_process'
import type { DecodeToRouter, PoolUse, PrefillToRouter, RouterToDecode, RouterToPrefill } from '../../cluster/index.ts'
import type { Clock } from '../../host/index.ts'
import type { DrillResult } from '../../model/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { DrillFinding } from '../drills/index.ts'
import type { FromWorker, ToWorker, WorkerInit } from '../worker/ipc.ts'
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
  /** The process is known ended; nothing of this epoch follows. */
  down(epoch: number, reason: string, wasReady: boolean): void
  /** It says itself why it cannot serve. */
  refused(code: string, reason: string): void
}

export interface SlotOptions {
  /** Compiled entry of a worker process. */
  readonly module: URL
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
// What a worker needs to find its libraries; whatever secret stands in the environment stays in the gateway.
const ENVIRONMENT = [
  'PATH',
  'HOME',
  'TMPDIR',
  'TEMP',
  'TMP',
  'LANG',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'SystemRoot',
]

/** Keeps one worker alive: one process at a time, a new one as soon as the old one is known ended. */
export class WorkerSlot {
  readonly #options: SlotOptions
  readonly #init: () => WorkerInit
  readonly #events: SlotEvents
  readonly #restarts = createRestartPolicy()
  #child: ChildProcess | null = null
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
  constructor(options: SlotOptions, init: () => WorkerInit, events: SlotEvents) {
    this.#options = options
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
    return this.#child?.pid ?? null
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
    const child = fork(this.#options.module, [init.role, init.model], {
      serialization: 'advanced',
      // Standard output belongs to the command that serves; a worker has nothing to say there.
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: [],
      env: Object.fromEntries(ENVIRONMENT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    })
    this.#child = child
    child.on('message', (message: FromWorker) => {
      if (this.#child === child) this.#hear(message)
    })
    child.on('error', (error) => {
      // Without a process there will be no exit; with one, the exit is what counts.
      if (child.pid === undefined) this.#over(child, `cannot run: ${error.message}`)
      else child.kill('SIGKILL')
    })
    child.on('exit', (code, signal) => this.#over(child, signal ? `killed by ${signal}` : `exited with ${code}`))
    this.#tell({ kind: 'init', init })
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

  #kill(reason: string): void {
    this.#cause = reason
    this.#child?.kill('SIGKILL')
  }

  /** Ends the process and waits until it is gone. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cause = STOPPED
    if (this.#restart) clearTimeout(this.#restart)
    const child = this.#child
    if (!child) return
    const gone = new Promise<void>((resolve) => {
      this.#ended = resolve
    })
    if (child.connected) child.disconnect()
    const timer = setTimeout(() => child.kill('SIGKILL'), 500)
    await gone
    clearTimeout(timer)
  }

  #tell(message: ToWorker): void {
    if (!this.#child?.connected) return
    // A process that has just ended shows as an error here before its exit is seen; the exit is what counts.
    this.#child.send(message, () => undefined)
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
        if (message.passMs > this.#options.passMs) this.#kill('killed: a pass ran too long')
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
    if (silentMs > (this.#ready ? this.#options.hungMs : this.#options.startMs)) this.#kill('killed: no answer')
    else this.#tell({ kind: 'ping', id: 0 })
  }

  #over(child: ChildProcess, how: string): void {
    if (this.#child !== child) return
    this.#child = null
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
