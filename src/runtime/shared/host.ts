import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import type { Random } from '../../host/index.ts'
import { createPools, type KernelShape, type PoolMemory } from '../../kernels/index.ts'
import { withDrillPages } from '../drills/index.ts'
import { crashReport } from '../worker/crash.ts'
import type { ForwardHost } from '../worker/forward-host.ts'
import type { WorkerInit, WorkerRole } from '../worker/ipc.ts'
import { EXIT_CRASHED } from '../worker/leave.ts'
import type { FromHost, FromRole, RoleInit, ToHost, ToRole } from './messages.ts'

/** How long a forward thread may go on once its role's life is over: a pass ends at its next layer, a model must be loaded first. */
const FORWARD_END_MS = 60_000

/** Starts the threads of a life. */
export interface HostThreads {
  /** The one that decides; it takes the ports in `data` over. */
  role(data: RoleInit): Worker
  /** The one that computes, asked by way of `port`. */
  forward(init: WorkerInit, pool: PoolMemory, port: MessagePort): ForwardHost
}

export interface HostOutside {
  readonly threads: HostThreads
  readonly random: Pick<Random, 'bytes'>
  readonly send: (message: FromHost) => void
  /** Ends the process. */
  readonly leave: (code: number, forwards: readonly ForwardHost[]) => void
  /** Ends it without waiting for any thread. */
  readonly die: () => void
}

/** One life of a role: the thread that decides and the thread that computes, side by side. */
interface RoleLife {
  readonly thread: Worker
  readonly forward: ForwardHost
  /** The first of its threads has ended or was told to, for this reason. */
  ending: string | null
}

/**
 * Both workers of a model in one process, over one memory. Prefill's life may end and begin anew; that it is over is said, to decode
 * and to the gateway, when both of its threads are known ended, since until then either may touch the memory (R6). Decode's
 * end is the process's.
 */
export class SharedHost {
  readonly #outside: HostOutside
  readonly #lives: Record<WorkerRole, RoleLife | null> = { prefill: null, decode: null }
  #pools: Readonly<Record<WorkerRole, PoolMemory>> | null = null
  /** Decode's end of the link to the present life of prefill, while there is no decode to take it. */
  #link: MessagePort | null = null
  #prefillLives = 0
  #leaving = false

  constructor(outside: HostOutside) {
    this.#outside = outside
  }

  hear(message: ToHost): void {
    // Nothing begins any more: whatever did would be inside ONNX Runtime when the process ends.
    if (this.#leaving) return
    if (message.kind === 'end') this.#end(message.role, message.reason)
    else if (message.message.kind === 'init') this.#tryToBegin(message.message.init)
    else if (message.message.kind !== 'decode_port') this.#tell(message.role, message.message)
  }

  /** Ends the process, and both lives with it. */
  leave(code: number): void {
    if (this.#leaving) return
    this.#leaving = true
    const lives = Object.values(this.#lives).filter((life) => life !== null)
    for (const { thread } of lives) void thread.terminate()
    this.#outside.leave(
      code,
      lives.map(({ forward }) => forward),
    )
  }

  /** Where there is no memory for the pools, there is nothing to host. */
  #tryToBegin(init: WorkerInit): void {
    try {
      this.#begin(init)
    } catch (error) {
      this.#outside.send({ kind: 'from', role: init.role, message: crashReport(error) })
      this.leave(EXIT_CRASHED)
    }
  }

  #begin(init: WorkerInit): void {
    const { role } = init
    const pools = this.#poolsFor(init)
    const passes = new MessageChannel()
    const { threads } = this.#outside
    const forward = threads.forward(init, pools[role], passes.port1)
    if (role === 'prefill') this.#prefillLives += 1
    const link = role === 'prefill' ? this.#newLink() : null
    const used = role === 'prefill' && this.#prefillLives > 1
    const thread = threads.role({ init, pools, used, forward: passes.port2, link })
    const life: RoleLife = { thread, forward, ending: null }
    this.#lives[role] = life
    thread.on('message', (message: FromRole) => {
      if (message.kind === 'cut') this.#cut(message.life, message.reason)
      else this.#outside.send({ kind: 'from', role, message })
    })
    const failed = (error: unknown): void => this.#outside.send({ kind: 'from', role, message: crashReport(error) })
    thread.on('error', failed)
    forward.thread.on('error', failed)
    const threadEnded = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
    threadEnded.then(() => this.#end(role, 'its thread ended'))
    forward.ended.then(() => this.#end(role, 'its forward thread ended'))
    Promise.all([threadEnded, forward.ended]).then(() => this.#over(role, life))
    if (role === 'decode') this.#passLink()
  }

  /** Ends what is left of this life; `#over` follows when all of it is known ended. */
  #end(role: WorkerRole, reason: string): void {
    const life = this.#lives[role]
    if (this.#leaving || life === null || life.ending !== null) return
    life.ending = reason
    if (role === 'decode') {
      this.leave(EXIT_CRASHED)
      return
    }
    // A thread that is ended from outside says nothing any more: what it was about is for the fences to sort out.
    void life.thread.terminate()
    life.forward.end(FORWARD_END_MS).then((ended) => {
      if (!ended) this.#outside.die()
    })
  }

  /** Decode may speak of a life that is over already. */
  #cut(life: number, reason: string): void {
    if (life === this.#prefillLives) this.#end('prefill', `closed by decode: ${reason}`)
  }

  #over(role: WorkerRole, { ending }: RoleLife): void {
    if (this.#leaving || role === 'decode') return
    this.#lives.prefill = null
    this.#link?.close()
    this.#link = null
    this.#tell('decode', { kind: 'link_down' })
    this.#outside.send({ kind: 'ended', role, reason: ending ?? 'ended' })
  }

  #tell(role: WorkerRole, message: ToRole): void {
    const transfer = message.kind === 'link' ? [message.port] : []
    this.#lives[role]?.thread.postMessage(message, transfer)
  }

  /** Prefill's end; decode's is handed on, at once or when decode is there. */
  #newLink(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    this.#link = port2
    this.#passLink()
    return port1
  }

  #passLink(): void {
    if (this.#link === null || this.#lives.decode === null) return
    this.#tell('decode', { kind: 'link', port: this.#link, life: this.#prefillLives })
    this.#link = null
  }

  /** Made once; guard rows of a new life of prefill get a key of their own, so that none of an earlier one's can pass. */
  #poolsFor({ role, channel, keys }: WorkerInit): Readonly<Record<WorkerRole, PoolMemory>> {
    if (channel.kind !== 'shared') throw new Error('a process for both workers needs both shapes')
    if (this.#pools === null) {
      const request = (shape: KernelShape) => ({
        shape: withDrillPages(shape),
        key: this.#guardKey(),
        sealKey: keys.seal,
      })
      const [prefill, decode] = createPools([request(channel.shapes.prefill), request(channel.shapes.decode)])
      this.#pools = { prefill: prefill!, decode: decode! }
    } else if (role === 'prefill') {
      this.#pools = { ...this.#pools, prefill: { ...this.#pools.prefill, key: this.#guardKey() } }
    }
    return this.#pools
  }

  #guardKey(): BigUint64Array {
    return new BigUint64Array(this.#outside.random.bytes(16).slice().buffer)
  }
}
