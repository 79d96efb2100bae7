import type { DecodeToRouter, Lease, PrefillToRouter } from '../../cluster/index.ts'
import { type Channel, SocketChannel } from './channel.ts'
import type { SimContext } from './context.ts'
import { DecodeNode } from './decode-node.ts'
import { FrameFaults } from './frame-faults.ts'
import type { SimMemory } from './memory.ts'
import { PrefillNode } from './prefill-node.ts'
import { SharedChannel } from './shared-channel.ts'
import { Link } from './world.ts'

type Role = 'prefill' | 'decode'

/** A worker and its two-way line to the router, from its start until its end is known. */
interface Process<Node> {
  readonly node: Node
  readonly toRouter: Link
  readonly toWorker: Link
  /** Lets the hello go that was held back. */
  readonly joined: () => void
  /** The router knows that it is gone. */
  gone: boolean
}

/** Where what the workers say, and what becomes of them, is heard. */
export interface WorkersListener {
  fromPrefill(epoch: number, message: PrefillToRouter): void
  fromDecode(epoch: number, message: DecodeToRouter): void
  down(role: Role, epoch: number): void
}

/** A prefill and a decode with the channel between them, as whoever starts and supervises them sees them. */
export class SimWorkers {
  readonly #context: SimContext
  readonly #listener: WorkersListener
  /** Known on any channel there was, for frames that end up in the wrong room. */
  readonly #leases: Lease[] = []
  readonly #shared: boolean
  #prefill: Process<PrefillNode>
  #decode: Process<DecodeNode>
  #channel: Channel | null = null
  #epochs = 0
  /** Of the gateway, which starts the workers: restarts that an earlier life meant to do do not happen. */
  #life = 0

  constructor(context: SimContext, listener: WorkersListener) {
    this.#context = context
    this.#listener = listener
    this.#shared = context.settings.transport === 'shared'
    this.#decode = this.#startDecode()
    this.#prefill = this.#startPrefill(null)
    this.#connect()
  }

  get prefill(): Process<PrefillNode> {
    return this.#prefill
  }

  get decode(): Process<DecodeNode> {
    return this.#decode
  }

  /**
   * It dies between two events; what it had under way is gone, its peers hear of it later, and it is started anew. Over
   * `shared` decode's end is the end of the process that both are in.
   */
  crash(role: Role): void {
    const roles: readonly Role[] = this.#shared && role === 'decode' ? ['decode', 'prefill'] : [role]
    for (const one of roles) this.#end(one)
  }

  /** Both end, and the gateway with them: nobody hears of it. */
  crashAll(): void {
    const life = ++this.#life
    for (const { node, toRouter, toWorker } of [this.#prefill, this.#decode]) {
      node.kill()
      toRouter.cut()
      toWorker.cut()
    }
    this.#channel?.cut()
    this.#context.world.after(5 + this.#context.delay('restart', 20), () => {
      if (life !== this.#life) return
      this.#decode = this.#startDecode()
      this.#prefill = this.#startPrefill(null)
      this.#connect()
    })
  }

  /** Over `shared` there is nothing to cut but prefill's life. */
  cutChannel(): void {
    if (this.#shared) {
      this.crash('prefill')
      return
    }
    if (this.#channel === null || !this.#channel.open) return
    this.#channel.cut()
    const life = this.#life
    this.#context.world.after(6 + this.#context.delay('reconnect', 20), () => {
      if (life === this.#life) this.#connect()
    })
  }

  #end(role: Role): void {
    const process = role === 'prefill' ? this.#prefill : this.#decode
    const { node, toRouter, toWorker } = process
    if (!node.alive) return
    const { world } = this.#context
    if (this.#context.stages.size > 0) this.#context.coverage.situation('worker lost with requests on it')
    node.kill()
    toWorker.cut()
    this.#channel?.cut()
    const life = this.#life
    toRouter.send(this.#context.delay('exit', 10), () => {
      process.gone = true
      this.#listener.down(role, node.life.epoch)
      world.after(5 + this.#context.delay('restart', 20), () => {
        if (life === this.#life) this.#restart()
      })
    })
  }

  /** Whoever is known gone begins anew; over `shared` a process that died begins anew as a whole. */
  #restart(): void {
    const { prefill, decode } = { prefill: this.#prefill, decode: this.#decode }
    if (this.#shared && !decode.node.alive && !(decode.gone && prefill.gone)) return
    if (decode.gone) this.#decode = this.#startDecode()
    if (prefill.gone) this.#prefill = this.#startPrefill(decode.gone ? null : prefill.node.memory)
    this.#connect()
  }

  /** A pool may come back smaller than it was, and larger again the time after. */
  #poolSize(pages: number): number {
    if (this.#epochs <= 2 || !this.#context.strikes('shrunkenPool')) return pages
    this.#context.coverage.situation('pool comes back smaller')
    return 1 + this.#context.oracle.choose('smaller pool', pages - 1)
  }

  /** `left`: its pool, if there was a life before it in the same process. */
  #startPrefill(left: SimMemory | null): Process<PrefillNode> {
    const epoch = ++this.#epochs
    const line = this.#line<PrefillToRouter>((message) => this.#listener.fromPrefill(epoch, message))
    const inherited = this.#shared ? left : null
    const pages = inherited?.shape.pages ?? this.#poolSize(this.#context.settings.prefillPages)
    const wires = {
      toRouter: line.say,
      page: (frame, bytes) => this.#channel?.page(frame, bytes),
      manifest: (frame) => this.#channel?.manifest(frame),
      acknowledge: (lease) => this.#channel?.acknowledge?.(lease),
    } satisfies ConstructorParameters<typeof PrefillNode>[3]
    const neighbourhood = this.#shared ? { decode: this.#decode.node, left: inherited } : null
    const node = new PrefillNode(this.#context, epoch, pages, wires, neighbourhood)
    node.step({ kind: 'start', now: this.#context.world.now })
    return { node, ...line, gone: false }
  }

  #startDecode(): Process<DecodeNode> {
    const epoch = ++this.#epochs
    const line = this.#line<DecodeToRouter>((message) => this.#listener.fromDecode(epoch, message))
    const node = new DecodeNode(this.#context, epoch, this.#poolSize(this.#context.settings.decodePages), {
      toRouter: line.say,
      toPrefill: (message) => this.#channel?.toPrefill(message),
      openLeases: (from) => this.#channel?.openLeases?.(from),
      closeChannel: () => this.#context.world.after(0, () => this.cutChannel()),
    })
    node.step({ kind: 'start', now: this.#context.world.now })
    return { node, ...line, gone: false }
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

  /** Opens a channel between the two that live now, unless there is one already or one of them is down. */
  #connect(): void {
    const [prefill, decode] = [this.#prefill, this.#decode]
    if (this.#channel?.open || !prefill.node.alive || !decode.node.alive) return
    const faults = new FrameFaults(this.#context, this.#leases)
    if (this.#shared) {
      const joined = { prefill: prefill.joined, decode: decode.joined }
      this.#channel = new SharedChannel(this.#context, prefill.node, decode.node, faults, joined)
      return
    }
    this.#channel = new SocketChannel(this.#context, prefill.node, decode.node, faults)
    prefill.node.channel(true)
    decode.node.channel(true)
    prefill.joined()
    decode.joined()
  }
}
