import {
  type DecodeToRouter,
  type EngineEvent,
  type EngineRequest,
  type Lease,
  type PrefillToRouter,
  type RouterEffect,
  type RouterEvent,
  RouterMachine,
  type RouterToDecode,
  type RouterToPrefill,
} from '../../cluster/index.ts'
import { TransferChannel } from './channel.ts'
import type { Life, SimCounts } from './checkers/index.ts'
import type { SimContext } from './context.ts'
import { simCrypto } from './crypto.ts'
import { DecodeNode, PrefillNode } from './nodes.ts'
import { Tampering } from './tampering.ts'
import { Link } from './world.ts'

/** A process and its two-way line to the router, from its start until its end is known. */
interface Process<Node> {
  readonly node: Node
  readonly toRouter: Link
  readonly toWorker: Link
  /** Lets the hello go that was held back. */
  readonly joined: () => void
}

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
  readonly #leases: Lease[] = []
  #router: RouterMachine
  readonly #tampering: Tampering
  #prefill: Process<PrefillNode>
  #decode: Process<DecodeNode>
  #channel: TransferChannel | null = null
  #epochs = 0
  #timer = 0
  /** Of the gateway, which starts the workers: restarts that an earlier life meant to do do not happen. */
  #life = 0

  constructor(context: SimContext, listener: ClusterListener) {
    this.#context = context
    this.#listener = listener
    this.#tampering = new Tampering(context)
    this.#router = this.#newRouter()
    this.#prefill = this.#startPrefill()
    this.#decode = this.#startDecode()
    this.#connect()
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

  /** A process dies between two events; what it had under way is gone, its peers hear of it later, and it is started anew. */
  crash(role: 'prefill' | 'decode'): void {
    const { world } = this.#context
    const process = role === 'prefill' ? this.#prefill : this.#decode
    const { node, toRouter } = process
    if (!node.alive) return
    if (this.#context.stages.size > 0) this.#context.coverage.situation('worker lost with requests on it')
    node.kill()
    process.toWorker.cut()
    this.#channel?.cut()
    const life = this.#life
    toRouter.send(this.#context.delay('exit', 10), () => {
      this.#stepRouter({
        kind: 'worker_down',
        now: this.#context.world.now,
        role,
        epoch: node.life.epoch,
        reason: 'crash',
      })
      world.after(5 + this.#context.delay('restart', 20), () => {
        if (life !== this.#life) return
        if (role === 'prefill') this.#prefill = this.#startPrefill()
        else this.#decode = this.#startDecode()
        this.#connect()
      })
    })
  }

  /** The gateway's process dies, and its workers end with it; it comes back knowing nothing. */
  crashGateway(): void {
    const life = ++this.#life
    for (const { node, toRouter, toWorker } of [this.#prefill, this.#decode]) {
      node.kill()
      toRouter.cut()
      toWorker.cut()
    }
    this.#channel?.cut()
    this.#timer++
    this.#listener.gatewayGone()
    this.#context.stages.clear()
    this.#router = this.#newRouter()
    this.#context.world.after(5 + this.#context.delay('restart', 20), () => {
      if (life !== this.#life) return
      this.#prefill = this.#startPrefill()
      this.#decode = this.#startDecode()
      this.#connect()
    })
  }

  spoilGuard(): void {
    const nodes = [this.#prefill.node, this.#decode.node]
    nodes[this.#context.oracle.choose('whose pool', 2)]!.spoilGuard()
  }

  cutChannel(): void {
    if (this.#channel === null || !this.#channel.open) return
    this.#channel.cut()
    const life = this.#life
    this.#context.world.after(6 + this.#context.delay('reconnect', 20), () => {
      if (life === this.#life) this.#connect()
    })
  }

  /** What prefill still has cached is given up. */
  flushPrefixes(): void {
    this.#prefill.node.flush()
  }

  /** Workers that are up, audited, with their counts. */
  living(): { readonly life: Life; readonly counts: SimCounts }[] {
    const living = [this.#prefill.node, this.#decode.node].filter((node) => node.alive)
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

  /** A pool may come back smaller than it was, and larger again the time after. */
  #poolSize(pages: number): number {
    if (this.#epochs <= 2 || !this.#context.strikes('shrunkenPool')) return pages
    this.#context.coverage.situation('pool comes back smaller')
    return 1 + this.#context.oracle.choose('smaller pool', pages - 1)
  }

  #startPrefill(): Process<PrefillNode> {
    const epoch = ++this.#epochs
    const line = this.#line<PrefillToRouter>((message) => {
      const { stages } = this.#context
      if (message.kind === 'prefilled' && stages.get(message.requestId) === 'prefilling')
        stages.set(message.requestId, 'prefilled')
      this.#stepRouter({ kind: 'from_prefill', now: this.#context.world.now, epoch, message })
    })
    const node = new PrefillNode(this.#context, epoch, this.#poolSize(this.#context.settings.prefillPages), {
      toRouter: line.say,
      page: (frame, bytes) => this.#channel?.page(frame, bytes),
      manifest: (frame) => this.#channel?.manifest(frame),
    })
    node.step({ kind: 'start', now: this.#context.world.now })
    return { node, ...line }
  }

  #startDecode(): Process<DecodeNode> {
    const epoch = ++this.#epochs
    const line = this.#line<DecodeToRouter>((message) =>
      this.#stepRouter({ kind: 'from_decode', now: this.#context.world.now, epoch, message }),
    )
    const node = new DecodeNode(this.#context, epoch, this.#poolSize(this.#context.settings.decodePages), {
      toRouter: line.say,
      toPrefill: (message) => this.#channel?.toPrefill(message),
      closeChannel: () => this.#context.world.after(0, () => this.cutChannel()),
    })
    node.step({ kind: 'start', now: this.#context.world.now })
    return { node, ...line }
  }

  /** A worker's line to the router. As in the runtime, its hello waits until the channel is open on both sides. */
  #line<M extends { readonly kind: string }>(hear: (message: M) => void) {
    const context = this.#context
    const toRouter = new Link(context.world)
    const send = (message: M): void => {
      toRouter.send(context.delay('to router', context.strikes('lateMessage') ? 60 : 2), () => hear(message))
      // Of itself and its channel a worker speaks to the process that started it, and that knows what it heard.
      if (message.kind !== 'hello' && message.kind !== 'channel' && context.strikes('echoedMessage'))
        toRouter.send(context.delay('echo', 40), () => hear(message))
    }
    let hello: M | null = null
    return {
      toRouter,
      toWorker: new Link(context.world),
      say: (message: M): void => {
        if (message.kind === 'hello') hello = message
        else send(message)
      },
      joined: (): void => {
        if (hello !== null) send(hello)
        hello = null
      },
    }
  }

  /** Opens a channel between the two processes that live now, unless there is one already or one of them is down. */
  #connect(): void {
    const prefill = this.#prefill
    const decode = this.#decode
    if (this.#channel?.open || !prefill.node.alive || !decode.node.alive) return
    this.#channel = new TransferChannel(this.#context, prefill.node, decode.node, this.#leases)
    prefill.node.channel(true)
    decode.node.channel(true)
    prefill.joined()
    decode.joined()
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
        if (this.#prefill.node.life.epoch === effect.epoch) this.#toPrefill(effect.message)
        break
      case 'to_decode':
        if (this.#decode.node.life.epoch === effect.epoch) this.#toDecode(effect.message)
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
    const { node, toWorker } = this.#prefill
    const sent = message.kind === 'prefill' ? this.#tampering.of(message, 'prefill') : message
    if (message.kind === 'prefill') this.#context.stages.set(message.requestId, 'prefilling')
    this.#post(toWorker, () => node.message(sent))
  }

  #toDecode(message: RouterToDecode): void {
    const { node, toWorker } = this.#decode
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
