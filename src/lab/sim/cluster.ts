import {
  type DecodeToRouter,
  type EngineEvent,
  type EngineRequest,
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
import { Link } from './world.ts'

type Untimed<T> = T extends unknown ? Omit<T, 'now'> : never

/** A process and its two-way line to the router, from its start until its end is known. */
interface Process<Node> {
  readonly node: Node
  readonly toRouter: Link
  readonly toWorker: Link
  /** Lets the hello go that was held back. */
  readonly joined: () => void
}

/** Router, prefill and decode as they run in production, with the world between them simulated. */
export class SimCluster {
  readonly #context: SimContext
  readonly #router: RouterMachine
  readonly #deliver: (requestId: string, event: EngineEvent) => void
  readonly #mixedUp = new Map<string, 'ids' | 'placeholder' | 'none'>()
  #prefill: Process<PrefillNode>
  #decode: Process<DecodeNode>
  #channel: TransferChannel | null = null
  #epochs = 0
  #timer = 0

  constructor(context: SimContext, deliver: (requestId: string, event: EngineEvent) => void) {
    const { queuePlaces, queueTimeoutMs } = context.settings
    this.#context = context
    this.#deliver = deliver
    this.#router = new RouterMachine({
      model: 'sim',
      weights: 'w',
      fences: context.fences,
      crypto: simCrypto,
      queuePlaces,
      queueTimeoutMs,
      ticketLifeMs: 100_000,
      maxAttempts: 3,
    })
    this.#prefill = this.#startPrefill()
    this.#decode = this.#startDecode()
    this.#connect()
  }

  submit(request: EngineRequest): void {
    this.#stepRouter({ kind: 'submit', request })
  }

  abort(requestId: string): void {
    this.#stepRouter({ kind: 'abort', requestId })
  }

  finishSequence(requestId: string, sequence: number): void {
    this.#stepRouter({ kind: 'finish_sequence', requestId, sequence })
  }

  /** A process dies between two events; what it had under way is gone, its peers hear of it later, and it is started anew. */
  crash(role: 'prefill' | 'decode'): void {
    const { world } = this.#context
    const process = role === 'prefill' ? this.#prefill : this.#decode
    const { node, toRouter } = process
    if (!node.alive) return
    node.kill()
    process.toWorker.cut()
    this.#channel?.cut()
    toRouter.send(this.#context.delay('exit', 10), () => {
      this.#stepRouter({ kind: 'worker_down', role, epoch: node.life.epoch, reason: 'crash' })
      world.after(5 + this.#context.delay('restart', 20), () => {
        if (role === 'prefill') this.#prefill = this.#startPrefill()
        else this.#decode = this.#startDecode()
        this.#connect()
      })
    })
  }

  cutChannel(): void {
    if (this.#channel === null || !this.#channel.open) return
    this.#channel.cut()
    this.#context.world.after(6 + this.#context.delay('reconnect', 20), () => this.#connect())
  }

  /** Workers that are up, audited, with their counts. */
  living(): { readonly life: Life; readonly counts: SimCounts }[] {
    const living = [this.#prefill.node, this.#decode.node].filter((node) => node.alive)
    for (const node of living) node.audit()
    return living.map((node) => ({ life: node.life, counts: node.counts() }))
  }

  #startPrefill(): Process<PrefillNode> {
    const epoch = ++this.#epochs
    const line = this.#line<PrefillToRouter>((message) => this.#stepRouter({ kind: 'from_prefill', epoch, message }))
    const node = new PrefillNode(this.#context, epoch, {
      toRouter: line.say,
      page: (frame, bytes) => this.#channel?.page(frame, bytes),
      manifest: (frame) => this.#channel?.manifest(frame),
    })
    node.step({ kind: 'start', now: this.#context.world.now })
    return { node, ...line }
  }

  #startDecode(): Process<DecodeNode> {
    const epoch = ++this.#epochs
    const line = this.#line<DecodeToRouter>((message) => this.#stepRouter({ kind: 'from_decode', epoch, message }))
    const node = new DecodeNode(this.#context, epoch, {
      toRouter: line.say,
      toPrefill: (message) => this.#channel?.toPrefill(message),
      closeChannel: () => this.#context.world.after(0, () => this.cutChannel()),
    })
    node.step({ kind: 'start', now: this.#context.world.now })
    return { node, ...line }
  }

  /** A worker's line to the router. As in the runtime, its hello waits until the channel is open on both sides. */
  #line<M extends { readonly kind: string }>(hear: (message: M) => void) {
    const toRouter = new Link(this.#context.world)
    const send = (message: M): void => toRouter.send(this.#context.delay('to router', 2), () => hear(message))
    let hello: M | null = null
    return {
      toRouter,
      toWorker: new Link(this.#context.world),
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
    this.#channel = new TransferChannel(this.#context, prefill.node, decode.node)
    prefill.node.channel(true)
    decode.node.channel(true)
    prefill.joined()
    decode.joined()
  }

  #stepRouter(event: Untimed<RouterEvent>): void {
    const timed = { ...event, now: this.#context.world.now } as RouterEvent
    const effects = this.#router.step(timed)
    this.#context.record('router', timed, effects)
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
        this.#deliver(effect.requestId, effect.event)
        break
      case 'set_timer': {
        const timer = ++this.#timer
        if (effect.at !== null)
          world.at(effect.at, () => {
            if (timer === this.#timer) this.#stepRouter({ kind: 'tick' })
          })
        break
      }
      case 'telemetry':
        break
    }
  }

  #toPrefill(message: RouterToPrefill): void {
    const { node, toWorker } = this.#prefill
    const sent =
      message.kind === 'prefill'
        ? { ...message, ids: this.#idsFor(message.requestId, message.ids, 'prefill') }
        : message
    this.#post(toWorker, () => node.message(sent))
  }

  #toDecode(message: RouterToDecode): void {
    const { node, toWorker } = this.#decode
    const sent =
      message.kind === 'reserve' ? { ...message, ids: this.#idsFor(message.requestId, message.ids, 'decode') } : message
    this.#post(toWorker, () => node.message(sent))
  }

  #post(link: Link, deliver: () => void): void {
    const { oracle, faults } = this.#context
    link.send(this.#context.delay('to worker', 2), deliver)
    if (oracle.chance('replayed message', faults.replayedMessage))
      link.send(40 + this.#context.delay('replay', 40), deliver, true)
  }

  /**
   * The ids that reach a worker. Mixed up: both legs get the same wrong ids. Placeholder: the fault of 2026, prefill gets one
   * token where a prompt belongs.
   */
  #idsFor(requestId: string, ids: Int32Array, leg: 'prefill' | 'decode'): Int32Array {
    const { oracle, faults } = this.#context
    let fate = this.#mixedUp.get(requestId)
    if (fate === undefined) {
      if (oracle.chance('mixed-up ids', faults.mixedUpIds)) fate = 'ids'
      else fate = oracle.chance('placeholder', faults.placeholder) ? 'placeholder' : 'none'
      this.#mixedUp.set(requestId, fate)
    }
    if (fate === 'ids') return ids.map((id, i) => (i === 0 ? id + 1 : id))
    return fate === 'placeholder' && leg === 'prefill' && ids.length > 1 ? Int32Array.of(0) : ids
  }
}
