import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  DecodeMachine,
  type DecodeToRouter,
  fullFences,
  PrefillMachine,
  type PrefillToRouter,
  type RouterToDecode,
  type RouterToPrefill,
  type WorkerHello,
  type WorkerOptions,
} from '../../cluster/index.ts'
import type { Clock, DigestTools, Random } from '../../host/index.ts'
import { openPool, type PoolMemory } from '../../kernels/index.ts'
import { drillPages, workerDrills } from '../drills/index.ts'
import { connectLink, type EndpointEvents, listenForLink, removeStaleSocket } from '../transfer/index.ts'
import { createDecodeCore } from './decode-core.ts'
import { type ForwardThread, startForwardThread } from './forward-client.ts'
import type { FromWorker, WorkerInit } from './ipc.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import type { ForwardReports, WorkerPorts } from './ports.ts'
import { createPrefillCore } from './prefill-core.ts'
import { yieldToDecode } from './priority.ts'

/** Of the pool's private scratch the main thread takes the first, the forward thread the next. */
const MAIN_LANE = 0

export interface WorkerOutside {
  readonly pool: PoolMemory
  readonly clock: Clock
  readonly digests: DigestTools
  readonly random: Random
  readonly send: (message: FromWorker) => void
  readonly fatal: (error: Error) => void
  /** Where decode listens now, over TCP. */
  readonly decodePort: () => number | null
}

export interface Worker {
  message(message: RouterToDecode | RouterToPrefill): void
  passMs(): number
  /** Drills every detector and says what they did. */
  drill(turn: number): Promise<void>
}

/**
 * Loads the model, opens the channel, and says hello when the other side is on it: a worker that is seen can take part in a
 * request. Of a restarted pair, whichever side is new keeps the router waiting until the two are joined.
 */
export const startWorker = async (init: WorkerInit, outside: WorkerOutside): Promise<Worker> => {
  const fences = fullFences(init.integrity)
  const { pool, clock, digests, random } = outside
  const reports: { current: ForwardReports | null } = { current: null }
  const drillPage = drillPages(init.shape).forward
  const forward = await startForwardThread(
    { weights: init.weights, digest: init.digest, pool, checks: fences.kernel, threads: init.threads, drillPage },
    () => reports.current!,
    clock.now,
    outside.fatal,
  )
  outside.send({ kind: 'loaded', notes: forward.notes, drill: forward.drill })
  const options: WorkerOptions = {
    model: init.model,
    weights: init.digest,
    epoch: init.epoch,
    shape: init.shape,
    fences,
    crypto: digests.keyed(init.keys.ticket),
    scrub: init.scrub,
    sweepEvery: init.sweepEvery,
  }
  const kernels = openPool(pool, { lane: MAIN_LANE, checks: fences.kernel, ...init.rope })
  const endpoint = {
    own: { role: init.role, model: init.model, weights: init.digest, epoch: init.epoch, shape: init.shape },
    linkKey: init.keys.link,
    digests,
    random,
    channel: init.channel,
  }
  const drills = workerDrills({ ...endpoint, worker: options, kernels, integrity: init.integrity })
  outside.send({ kind: 'drilled', findings: [...drills.map((one) => one()), ...forward.findings] })
  const make = init.role === 'prefill' ? startPrefill : startDecode
  const worker = await make({ init, outside, options, kernels, forward, reports, endpoint })
  const drill = async (turn: number): Promise<void> => {
    const findings = [...(await forward.drillAgain(turn))]
    for (const one of drills) {
      findings.push(one())
      // Answers that stream are not to wait for all of them at once.
      await nextTurn()
    }
    outside.send({ kind: 'drilled', findings })
  }
  return { ...worker, drill }
}

interface Parts {
  readonly init: WorkerInit
  readonly outside: WorkerOutside
  readonly options: WorkerOptions
  readonly kernels: ReturnType<typeof openPool>
  readonly forward: ForwardThread
  readonly reports: { current: ForwardReports | null }
  readonly endpoint: Parameters<typeof connectLink>[0]
}

const portsOf = <Message extends PrefillToRouter | DecodeToRouter>(
  { init, outside, kernels, forward }: Parts,
  outbox: Outbox,
  hello: HeldHello,
): WorkerPorts<Message> => ({
  now: outside.clock.now,
  digests: outside.digests,
  kernels,
  poolPages: init.shape.pages,
  pageSize: init.shape.pageSize,
  forward: (plan) => forward.run(plan),
  send: (message) => {
    if (message.kind === 'hello') hello.hold(message)
    else outbox.send(message)
  },
  telemetry: (event) => outbox.telemetry(event),
  idle: () => outbox.flush(),
})

const startPrefill = async (parts: Parts): Promise<Omit<Worker, 'drill'>> => {
  const { init, outside } = parts
  const machine = new PrefillMachine({
    ...parts.options,
    chunkRows: init.chunkRows,
    layerBudgetSeconds: init.layerBudgetSeconds,
    ...(init.prefixCache === null ? {} : { prefixCache: init.prefixCache }),
  })
  const outbox = createOutbox({ ...outside, role: init.role, machine, now: outside.clock.now })
  const hello = heldHello(outbox, yieldToDecode)
  const core = createPrefillCore(machine, portsOf<PrefillToRouter>(parts, outbox, hello))
  core.start()
  parts.reports.current = core
  const events: EndpointEvents = {
    up: () => core.linkUp(link.link()!),
    joined: () => hello.release(),
    down: () => core.linkDown(),
    drained: () => core.drained(),
    leaseClosed: (message) => core.leaseClosed(message),
    page: () => undefined,
    manifest: () => undefined,
    violation: (reason) => {
      outbox.telemetry({ kind: 'transfer_violation', reason })
      outbox.flush()
    },
  }
  const link = connectLink(parts.endpoint, events, outside.decodePort)
  return { message: (message) => core.message(message as RouterToPrefill), passMs: parts.forward.passMs }
}

const startDecode = async (parts: Parts): Promise<Omit<Worker, 'drill'>> => {
  const { init, outside } = parts
  const machine = new DecodeMachine({ ...parts.options, maxBatch: init.maxBatch })
  const outbox = createOutbox({ ...outside, role: init.role, machine, now: outside.clock.now })
  const hello = heldHello(outbox)
  const core = createDecodeCore(machine, portsOf<DecodeToRouter>(parts, outbox, hello), (reason) => link.cut(reason))
  parts.reports.current = core
  if (init.channel.kind === 'socket') {
    // Whatever tidies the temporary directory may have taken it along in a long life.
    mkdirSync(dirname(init.channel.path), { recursive: true, mode: 0o700 })
    removeStaleSocket(init.channel.path)
  }
  const events: EndpointEvents = {
    up: () => core.linkUp(link.link()!),
    joined: () => hello.release(),
    down: () => core.linkDown(),
    drained: () => undefined,
    leaseClosed: () => undefined,
    page: (frame, rows) => core.page(frame, rows),
    manifest: (frame) => core.manifest(frame),
    violation: (reason) => {
      outbox.telemetry({ kind: 'transfer_violation', reason })
      outbox.flush()
    },
  }
  core.start()
  const link = await listenForLink(parts.endpoint, events)
  if (link.port !== null) outside.send({ kind: 'listening', port: link.port })
  return { message: (message) => core.message(message as RouterToDecode), passMs: parts.forward.passMs }
}

interface HeldHello {
  hold(hello: WorkerHello): void
  /** Lets it go, the first time. */
  release(): void
}

/** A machine greets at once; the router hears of it when the other worker can be reached, too. */
const heldHello = (outbox: Outbox, atRelease: () => void = () => undefined): HeldHello => {
  let held: WorkerHello | null = null
  return {
    hold: (hello) => {
      held = hello
    },
    release: () => {
      if (!held) return
      outbox.send(held)
      held = null
      outbox.flush()
      atRelease()
    },
  }
}
