import {
  type EngineEvent,
  type EngineRequest,
  type RouterEffect,
  type RouterEvent,
  RouterMachine,
  type RouterToDecode,
  type RouterToPrefill,
} from '../../cluster/index.ts'
import type { Life, SimCounts } from './checkers/index.ts'
import type { SimContext } from './context.ts'
import { simCrypto } from './crypto.ts'
import { Tampering } from './tampering.ts'
import { SimWorkers } from './workers.ts'
import type { Link } from './world.ts'

/** Who hears of what the cluster does. */
export interface ClusterListener {
  deliver(requestId: string, event: EngineEvent): void
  /** The gateway's process died; every exchange died with it. */
  gatewayGone(): void
}

/** Router, prefill and decode as they run in production, with the world between them simulated. */
export class SimCluster {
  readonly #context: SimContext
  readonly #listener: ClusterListener
  #router: RouterMachine
  readonly #tampering: Tampering
  readonly #workers: SimWorkers
  #timer = 0

  constructor(context: SimContext, listener: ClusterListener) {
    this.#context = context
    this.#listener = listener
    this.#tampering = new Tampering(context)
    this.#router = this.#newRouter()
    this.#workers = new SimWorkers(context, {
      fromPrefill: (epoch, message) => {
        const { stages } = context
        if (message.kind === 'prefilled' && stages.get(message.requestId) === 'prefilling')
          stages.set(message.requestId, 'prefilled')
        this.#stepRouter({ kind: 'from_prefill', now: context.world.now, epoch, message })
      },
      fromDecode: (epoch, message) => this.#stepRouter({ kind: 'from_decode', now: context.world.now, epoch, message }),
      down: (role, epoch) =>
        this.#stepRouter({ kind: 'worker_down', now: context.world.now, role, epoch, reason: 'crash' }),
    })
  }

  submit(request: EngineRequest): void {
    this.#context.stages.set(request.requestId, 'queued')
    this.#stepRouter({ kind: 'submit', now: this.#context.world.now, request })
  }

  abort(requestId: string): void {
    const stage = this.#context.stages.get(requestId)
    this.#context.coverage.situation(stage === undefined ? 'abort after the end' : `abort while ${stage}`)
    this.#stepRouter({ kind: 'abort', now: this.#context.world.now, requestId })
  }

  finishSequence(requestId: string, sequence: number): void {
    this.#stepRouter({ kind: 'finish_sequence', now: this.#context.world.now, requestId, sequence })
  }

  crash(role: 'prefill' | 'decode'): void {
    this.#workers.crash(role)
  }

  /** The gateway's process dies, and its workers end with it; it comes back knowing nothing. */
  crashGateway(): void {
    this.#workers.crashAll()
    this.#timer++
    this.#listener.gatewayGone()
    this.#context.stages.clear()
    this.#router = this.#newRouter()
  }

  cutChannel(): void {
    this.#workers.cutChannel()
  }

  spoilGuard(): void {
    const nodes = [this.#workers.prefill.node, this.#workers.decode.node]
    nodes[this.#context.oracle.choose('whose pool', 2)]!.spoilGuard()
  }

  /** What prefill still has cached is given up. */
  flushPrefixes(): void {
    this.#workers.prefill.node.flush()
  }

  /** Workers that are up, audited, with their counts. */
  living(): { readonly life: Life; readonly counts: SimCounts }[] {
    const living = [this.#workers.prefill.node, this.#workers.decode.node].filter((node) => node.alive)
    for (const node of living) node.audit()
    return living.map((node) => ({ life: node.life, counts: node.counts() }))
  }

  #newRouter(): RouterMachine {
    const { queuePlaces, queueTimeoutMs } = this.#context.settings
    return new RouterMachine({
      model: 'sim',
      weights: 'w',
      fences: this.#context.fences,
      crypto: simCrypto,
      queuePlaces,
      queueTimeoutMs,
      ticketLifeMs: 100_000,
      maxAttempts: 3,
    })
  }

  #stepRouter(event: RouterEvent): void {
    const effects = this.#router.step(event)
    this.#context.record('router', event, effects)
    for (const effect of effects) this.#execute(effect)
  }

  #execute(effect: RouterEffect): void {
    const { world } = this.#context
    switch (effect.kind) {
      case 'to_prefill':
        if (this.#workers.prefill.node.life.epoch === effect.epoch) this.#toPrefill(effect.message)
        break
      case 'to_decode':
        if (this.#workers.decode.node.life.epoch === effect.epoch) this.#toDecode(effect.message)
        break
      case 'deliver':
        this.#context.check('delivered', (checker) => checker.delivered(effect.requestId, effect.event))
        this.#stage(effect.requestId, effect.event)
        this.#listener.deliver(effect.requestId, effect.event)
        break
      case 'set_timer': {
        const timer = ++this.#timer
        if (effect.at !== null)
          world.at(effect.at, () => {
            if (timer === this.#timer) this.#stepRouter({ kind: 'tick', now: this.#context.world.now })
          })
        break
      }
      case 'telemetry':
        break
    }
  }

  #toPrefill(message: RouterToPrefill): void {
    const { node, toWorker } = this.#workers.prefill
    const sent = message.kind === 'prefill' ? this.#tampering.of(message, 'prefill') : message
    if (message.kind === 'prefill') this.#context.stages.set(message.requestId, 'prefilling')
    this.#post(toWorker, () => node.message(sent))
  }

  #toDecode(message: RouterToDecode): void {
    const { node, toWorker } = this.#workers.decode
    const sent = message.kind === 'reserve' ? this.#tampering.of(message, 'decode') : message
    if (message.kind === 'reserve') this.#context.stages.set(message.requestId, 'reserving')
    this.#post(toWorker, () => node.message(sent))
  }

  #post(link: Link, deliver: () => void): void {
    const context = this.#context
    link.send(context.delay('to worker', context.strikes('lateMessage') ? 60 : 2), deliver)
    if (context.strikes('replayedMessage')) link.send(40 + context.delay('replay', 40), deliver, true)
  }

  #stage(requestId: string, event: EngineEvent): void {
    const { stages } = this.#context
    if (event.kind === 'done' || event.kind === 'failed') stages.delete(requestId)
    else if (event.kind === 'queued') stages.set(requestId, 'queued')
    else if (event.kind === 'started') stages.set(requestId, 'running')
    else stages.set(requestId, 'answering')
  }
}
