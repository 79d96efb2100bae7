import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  decodeDefaults,
  type EnginePort,
  type PrefixCacheOptions,
  prefillDefaults,
  routerDefaults,
} from '../../cluster/index.ts'
import type { Secrets } from '../../host/index.ts'
import { nodeClock, nodeDigests, nodeRandom } from '../../host/node/index.ts'
import { type DrillResult, type ModelShape, poolShape } from '../../model/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { RuntimeError } from '../errors.ts'
import type { LinkChannel } from '../transfer/index.ts'
import type { EngineTransport } from '../transport.ts'
import type { SharedMemory, WorkerRole } from '../worker/ipc.ts'
import { ownProcess } from './carrier.ts'
import { ModelUnit } from './model-unit.ts'
import { sharedProcess } from './shared-carrier.ts'

/** A model to serve, as `inspectModel` found it, with its pools. */
export interface EngineModel {
  readonly id: string
  /** Path of the GGUF file. */
  readonly weights: string
  /** SHA-256 of the file; workers refuse another. */
  readonly digest: string
  readonly shape: ModelShape
  /** Pools in tokens; whole pages of it are used. */
  readonly prefillPool: number
  readonly decodePool: number
  readonly pageSize: number
  readonly integrity?: 'full' | 'tags'
  /** How its two workers are joined; default `socket`. */
  readonly transport?: EngineTransport
  readonly scrub?: 'tags' | 'zero' | 'poison'
  /** ONNX Runtime threads of each worker; default 1 and 1, which is two cores for one model. */
  readonly threads?: Partial<Record<WorkerRole, number>>
  readonly queuePlaces?: number
  readonly queueTimeoutMs?: number
  readonly maxBatch?: number
  readonly chunkRows?: number
  /** Absent: off. */
  readonly prefixCache?: PrefixCacheOptions
}

export interface EngineOptions {
  readonly models: readonly EngineModel[]
  readonly secrets: Secrets
  readonly telemetry: (event: TelemetryEvent) => void
  /** Lines the model's loading had to say (conversions), once per worker life. */
  readonly notes?: (model: string, role: WorkerRole, notes: readonly string[]) => void
  /** Default 5,000: a worker that answers no ping for so long is killed and replaced. */
  readonly hungMs?: number
  /** Default 120,000: the longest a pass may run. */
  readonly passMs?: number
  /** Default 300,000: the longest a worker may take to come up. */
  readonly startMs?: number
  /** Default 300,000: how often each worker's detectors are drilled (R14). */
  readonly drillEveryMs?: number
  /** Entry of a worker process; for tests of supervision alone. */
  readonly workerModule?: URL
}

export interface Engine extends EnginePort {
  /** Whether a row's bits were found to be the same in every batch on this CPU (R15's premise); null before the first start. */
  drills(model: string): Readonly<Record<WorkerRole, DrillResult | null>>
  /** Process ids of the workers now alive, for operators and tests; over `transport: shared` both are of one process. */
  pids(model: string): Readonly<Record<WorkerRole, number | null>>
  /**
   * Ends this worker's life at once, as if it hung, and lets the next one begin. Over `transport: shared` decode's end is its
   * process's, and so prefill's too.
   */
  restart(model: string, role: WorkerRole): void
  /** Lets what runs end for `graceMs`, fails the rest, ends every worker; afterwards no process and no socket is left. */
  stop(graceMs: number): Promise<void>
}

/**
 * Starts every model's workers and resolves when all are ready. Rejects with `worker_failed_to_start` (the worker's own line
 * as message) when one cannot serve; then nothing is left running.
 */
export const startEngine = async (options: EngineOptions): Promise<Engine> => {
  const onSockets = options.models.some(({ transport = 'socket' }) => transport === 'socket')
  const directory = onSockets ? mkdtempSync(join(shortTemporary(), 'bulkhead-')) : null
  let lives = Math.floor(nodeClock.wall()) * 1_000
  const channelOf = (at: number, model: EngineModel): LinkChannel | SharedMemory => {
    const { transport } = model
    if (transport === 'shared') return { kind: 'shared', shapes: shapesOf(model) }
    return directory === null || transport === 'tcp'
      ? { kind: 'tcp', key: channelKey(options.secrets) }
      : { kind: 'socket', path: join(directory, `${at}.s`) }
  }
  const units = new Map(
    options.models.map((model, at) => [
      model.id,
      createUnit(options, model, channelOf(at, model), at / options.models.length, () => (lives += 1)),
    ]),
  )
  let stopped: Promise<void> | null = null
  const stopAll = async (graceMs: number): Promise<void> => {
    await Promise.all([...units.values()].map((unit) => unit.stop(graceMs)))
    if (directory !== null) rmSync(directory, { recursive: true, force: true })
  }
  const stop = (graceMs: number): Promise<void> => {
    stopped ??= stopAll(graceMs)
    return stopped
  }
  try {
    await Promise.all([...units.values()].map((unit) => unit.start()))
  } catch (error) {
    await stop(0)
    throw error
  }
  const unitOf = (id: string): ModelUnit => {
    const unit = units.get(id)
    if (!unit) throw new RuntimeError({ code: 'model_unusable', message: `no model ${id} is served` })
    return unit
  }
  return {
    models: () => [...units.values()].map((unit) => unit.served()),
    submit: (request, sink) => unitOf(request.model).submit(request, sink),
    drills: (model) => unitOf(model).drills(),
    pids: (model) => unitOf(model).pids(),
    restart: (model, role) => unitOf(model).restart(role),
    stop,
  }
}

// The path of a Unix socket has about a hundred bytes on some systems, and some set a long TMPDIR.
const shortTemporary = (): string => (tmpdir().length <= 70 ? tmpdir() : '/tmp')

/** Made at each start: neither the secret's file nor an earlier run opens what is said in this one. */
const channelKey = (secrets: Secrets): Uint8Array => nodeDigests.mac(secrets.derive('channel'), nodeRandom.bytes(32))

const shapesOf = ({ shape, prefillPool, decodePool, pageSize }: EngineModel): SharedMemory['shapes'] => ({
  prefill: poolShape(shape, prefillPool, pageSize),
  decode: poolShape(shape, decodePool, pageSize),
})

const createUnit = (
  options: EngineOptions,
  model: EngineModel,
  channel: LinkChannel | SharedMemory,
  /** Where among the models this one's drills come, from 0 to 1. */
  offset: number,
  nextEpoch: () => number,
): ModelUnit => {
  const shapes = shapesOf(model)
  const module = (entry: string): URL => options.workerModule ?? new URL(`../${entry}.js`, import.meta.url)
  const keys = {
    ticket: options.secrets.derive('ticket'),
    link: options.secrets.derive('link'),
    seal: options.secrets.derive('seal'),
  }
  return new ModelUnit({
    model: model.id,
    digest: model.digest,
    ...routerDefaults,
    ...(model.queuePlaces === undefined ? {} : { queuePlaces: model.queuePlaces }),
    ...(model.queueTimeoutMs === undefined ? {} : { queueTimeoutMs: model.queueTimeoutMs }),
    ticket: nodeDigests.keyed(keys.ticket),
    clock: nodeClock,
    slot: {
      clock: nodeClock,
      hungMs: options.hungMs ?? 5_000,
      passMs: options.passMs ?? 120_000,
      startMs: options.startMs ?? 300_000,
    },
    carrier: channel.kind === 'shared' ? sharedProcess(module('shared-main')) : ownProcess(module('worker-main')),
    pages: { prefill: shapes.prefill.pages, decode: shapes.decode.pages },
    telemetry: options.telemetry,
    notes: (role, notes) => options.notes?.(model.id, role, notes),
    integrity: model.integrity ?? 'full',
    transport: model.transport ?? 'socket',
    drills: { everyMs: options.drillEveryMs ?? 300_000, offset },
    init: (role) => ({
      role,
      model: model.id,
      weights: model.weights,
      digest: model.digest,
      epoch: nextEpoch(),
      shape: shapes[role],
      rope: { ropeTheta: model.shape.ropeTheta, ropeDims: model.shape.ropeDims },
      threads: model.threads?.[role] ?? 1,
      integrity: model.integrity ?? 'full',
      scrub: model.scrub ?? prefillDefaults.scrub,
      sweepEvery: prefillDefaults.sweepEvery,
      chunkRows: model.chunkRows ?? prefillDefaults.chunkRows,
      prefixCache: model.prefixCache ?? null,
      layerBudgetSeconds: prefillDefaults.layerBudgetSeconds,
      maxBatch: model.maxBatch ?? decodeDefaults.maxBatch,
      channel,
      keys,
    }),
  })
}
