import {
  DecodeMachine,
  type Decoder,
  type DecodeToRouter,
  decodeDefaults,
  type EnginePort,
  type Fences,
  type PoolUse,
  type Prefiller,
  PrefillMachine,
  type PrefillToRouter,
  type PrefixCacheOptions,
  prefillDefaults,
  RouterMachine,
  type RouterToDecode,
  type RouterToPrefill,
  routerDefaults,
  type Transport,
} from '../../cluster/index.ts'
import { sample } from '../../engine/index.ts'
import { nodeClock, nodeDigests, nodeRandom } from '../../host/node/index.ts'
import {
  createPools,
  type KernelShape,
  type NeighbourPool,
  openNeighbour,
  openPool,
  type PoolKernels,
  type PoolMemory,
} from '../../kernels/index.ts'
import type { FreeList } from '../../kv/index.ts'
import { type ForwardPass, type ForwardPlan, loadModel, poolShape } from '../../model/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { RuntimeError } from '../errors.ts'
import type { EngineModel } from '../supervisor/engine.ts'
import { createRouterHost } from '../supervisor/router-host.ts'
import { createDecodeCore, type DecodeCore } from '../worker/decode-core.ts'
import type { WorkerRole } from '../worker/ipc.ts'
import type { ForwardReports, LeaseSink, PageSink, WorkerPorts } from '../worker/ports.ts'
import { createPrefillCore, type PrefillCore } from '../worker/prefill-core.ts'
import { localChannel } from './channel.ts'

export interface LocalEngineOptions {
  readonly model: Omit<EngineModel, 'integrity'>
  /** A full set as `serve` has it, or a partial one where a test or a demonstration takes fences away. */
  readonly fences: Fences
  readonly telemetry: (event: TelemetryEvent) => void
  /** Default `socket`. */
  readonly transport?: Transport
  /** Absent: no prefix cache. */
  readonly prefixCache?: PrefixCacheOptions
  /** Called after every step of either worker that may have changed its pool, from the first on; `use` looks at it now. */
  readonly onStep?: (role: WorkerRole, use: () => PoolUse) => void
  /** Awaited before each forward pass and before each page crosses, so that people can watch. */
  readonly pace?: (moment: 'pass' | 'page') => Promise<void>
  /** Rewrites what the router sends and what is computed, for engines that are wrong on purpose. */
  readonly rewrite?: {
    readonly toPrefill?: (message: RouterToPrefill) => RouterToPrefill
    readonly toDecode?: (message: RouterToDecode) => RouterToDecode
    readonly forward?: (role: WorkerRole, plan: ForwardPlan) => ForwardPlan
  }
  readonly seams?: EngineSeams
}

/** Where the laboratory puts in parts that are wrong on purpose, or made beforehand. Each is asked once, when the engine starts. */
export interface EngineSeams {
  /** A pass over this pool with weights that are loaded already; the model's file is then not read. */
  readonly pass?: (role: WorkerRole, kernels: PoolKernels, pageSize: number) => ForwardPass
  /** Replaces a pool's kernels: the `worker`'s, which place and send rows, or, together with `pass`, the `pass`'s. */
  readonly kernels?: (role: WorkerRole, user: 'worker' | 'pass', kernels: PoolKernels) => PoolKernels
  /** Transport `shared`: replaces what prefill stores with. */
  readonly neighbour?: (neighbour: NeighbourPool) => NeighbourPool
  readonly prefill?: (machine: Prefiller) => Prefiller
  readonly decode?: (machine: Decoder) => Decoder
  /** What prefill and decode hand their frames to; `channel` delivers them. */
  readonly channel?: (channel: PageSink & LeaseSink) => PageSink & LeaseSink
  readonly freeList?: (role: WorkerRole, pages: number) => FreeList
}

export interface LocalEngine extends EnginePort {
  /** Gives up every cached prefix. */
  flushPrefixes(): void
  /** Rejects with what broke a forward pass, if one was; every request then failed with `unavailable`. */
  close(): Promise<void>
}

/**
 * The own engine in one process and thread: the same router, prefill and decode machines, kernels and forward pass as
 * `startEngine`, joined by function calls. Throws `model_unusable` where the model cannot be loaded.
 */
export const startLocalEngine = async (options: LocalEngineOptions): Promise<LocalEngine> => {
  const { model, fences, rewrite, seams } = options
  const key = nodeRandom.bytes(32)
  const shared = options.transport === 'shared'
  const direct = localChannel({
    prefill: () => prefill.core,
    decode: () => decode.core,
    pace: options.pace ? () => options.pace!('page') : null,
    stored: shared,
    openPrefill: (from) => prefill.core.linkUp(channel, from),
  })
  const channel = seams?.channel?.(direct) ?? direct
  const common = {
    model: model.id,
    weights: model.digest,
    fences,
    crypto: nodeDigests.keyed(key),
    scrub: model.scrub ?? prefillDefaults.scrub,
    sweepEvery: prefillDefaults.sweepEvery,
    transport: options.transport ?? 'socket',
  }
  const shapes = {
    prefill: poolShape(model.shape, model.prefillPool, model.pageSize),
    decode: poolShape(model.shape, model.decodePool, model.pageSize),
  }
  const freeList = (role: WorkerRole): { readonly freeList?: FreeList } =>
    seams?.freeList === undefined ? {} : { freeList: seams.freeList(role, shapes[role].pages) }
  const machines = {
    prefill: new PrefillMachine({
      ...prefillDefaults,
      ...common,
      ...freeList('prefill'),
      ...(options.prefixCache === undefined ? {} : { prefixCache: options.prefixCache }),
      epoch: 1,
      shape: shapes.prefill,
    }),
    decode: new DecodeMachine({ ...decodeDefaults, ...common, ...freeList('decode'), epoch: 2, shape: shapes.decode }),
  }
  const router = createRouterHost({
    router: new RouterMachine({
      ...routerDefaults,
      model: model.id,
      weights: model.digest,
      fences,
      crypto: common.crypto,
    }),
    clock: nodeClock,
    telemetry: options.telemetry,
    toPrefill: (_epoch, message) => prefill.core.message(rewrite?.toPrefill?.(message) ?? message),
    toDecode: (_epoch, message) => decode.core.message(rewrite?.toDecode?.(message) ?? message),
  })
  const pools = poolsOf(shapes, key, shared)
  const neighbour = shared ? openNeighbour(pools.prefill, pools.decode) : null
  let broken: unknown = null
  const fatal = (error: unknown): void => {
    broken ??= error
    router.close()
  }
  const prefill = await startLeg<PrefillToRouter, PrefillCore>(options, 'prefill', pools.prefill, {
    ...(neighbour && { neighbour: seams?.neighbour?.(neighbour) ?? neighbour }),
    send: (message) => queueMicrotask(() => router.dispatch({ kind: 'from_prefill', epoch: 1, message })),
    make: (ports) => createPrefillCore(seams?.prefill?.(machines.prefill) ?? machines.prefill, ports),
    fatal,
  })
  const decode = await startLeg<DecodeToRouter, DecodeCore>(options, 'decode', pools.decode, {
    send: (message) => queueMicrotask(() => router.dispatch({ kind: 'from_decode', epoch: 2, message })),
    make: (ports) => createDecodeCore(seams?.decode?.(machines.decode) ?? machines.decode, ports, () => undefined),
    fatal,
  })
  prefill.core.start()
  decode.core.start()
  if (!shared) prefill.core.linkUp(channel)
  decode.core.linkUp(channel)
  return {
    models: () => [
      {
        id: model.id,
        ready: true,
        reason: null,
        ...router.load(),
        pools: { prefill: prefill.core.poolUse(), decode: decode.core.poolUse() },
      },
    ],
    submit: (request, sink) => router.submit(request, sink),
    flushPrefixes: () => prefill.core.flushPrefixes(),
    close: async () => {
      router.close()
      await Promise.all([prefill.pass.close(), decode.pass.close()])
      if (broken !== null) throw broken
    },
  }
}

/** Over `shared` both stand in one memory. */
const poolsOf = (
  shapes: Readonly<Record<WorkerRole, KernelShape>>,
  sealKey: Uint8Array,
  shared: boolean,
): Readonly<Record<WorkerRole, PoolMemory>> => {
  const request = (role: WorkerRole) => ({
    shape: shapes[role],
    key: new BigUint64Array(nodeRandom.bytes(16).buffer),
    sealKey,
  })
  const both = [request('prefill'), request('decode')]
  const [prefill, decode] = shared ? createPools(both) : both.flatMap((one) => createPools([one]))
  return { prefill: prefill!, decode: decode! }
}

interface Leg<Core> {
  readonly core: Core
  readonly pass: ForwardPass
}

const startLeg = async <Message, Core extends ForwardReports & { poolUse(): PoolUse }>(
  options: LocalEngineOptions,
  role: WorkerRole,
  pool: PoolMemory,
  parts: {
    readonly neighbour?: NeighbourPool
    readonly send: (message: Message) => void
    readonly make: (ports: WorkerPorts<Message>) => Core
    readonly fatal: (error: unknown) => void
  },
): Promise<Leg<Core>> => {
  const { model, fences, telemetry, onStep, pace, rewrite } = options
  const kernelsFor = (user: 'worker' | 'pass'): PoolKernels => {
    const lane = user === 'worker' ? 0 : 1
    const kernels = openPool(pool, { lane, checks: fences.kernel, ...model.shape })
    return options.seams?.kernels?.(role, user, kernels) ?? kernels
  }
  const ready = options.seams?.pass
  const pass = ready ? ready(role, kernelsFor('pass'), model.pageSize) : await loadPass(options, role, pool)
  const run = async (plan: ForwardPlan): Promise<void> => {
    if (pace) await pace('pass')
    const started = nodeClock.now()
    const result = await pass.run(rewrite?.forward?.(role, plan) ?? plan, (layer) => core.layerDone(plan.id, layer))
    core.forwardDone(result, (nodeClock.now() - started) / 1_000)
  }
  const core = parts.make({
    now: nodeClock.now,
    kernels: kernelsFor('worker'),
    ...(parts.neighbour && { neighbour: parts.neighbour }),
    poolPages: pool.shape.pages,
    pageSize: pool.shape.pageSize,
    forward: (plan) => void run(plan).catch(parts.fatal),
    send: parts.send,
    telemetry,
    idle: () => onStep?.(role, () => core.poolUse()),
  })
  return { core, pass }
}

const loadPass = async (
  { model, fences }: LocalEngineOptions,
  role: WorkerRole,
  pool: PoolMemory,
): Promise<ForwardPass> => {
  const loaded = await loadModel(model.weights, {
    threads: model.threads?.[role] ?? 1,
    sampler: sample,
    pool,
    checks: fences.kernel,
    lane: 1,
    expectDigest: model.digest,
  })
  if (loaded.kind !== 'ok') throw new RuntimeError({ code: 'model_unusable', message: loaded.message })
  return loaded.pass
}
