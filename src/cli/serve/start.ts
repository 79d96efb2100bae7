import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { PrefixCacheOptions } from '../../cluster/index.ts'
import { createServeFeed, loadPage } from '../../dashboard/index.ts'
import { createGateway, type GatewayModel, type Tenant } from '../../gateway/index.ts'
import {
  createOffload,
  createSecrets,
  nodeClock,
  nodeDigests,
  nodePrivateFiles,
  nodeRandom,
  nodeTimers,
} from '../../host/node/index.ts'
import { DEFAULT_LIMITS, type EngineModel, type HttpServer, listen, startEngine } from '../../runtime/index.ts'
import {
  createRecorder,
  type LogLevel,
  type LogRecord,
  logLevel,
  logRecord,
  type TelemetryEvent,
} from '../../telemetry/index.ts'
import type { Config } from '../config/index.ts'
import { offloadModule } from './offload-entry.ts'
import type { OffloadModel } from './offload-models.ts'
import { readPageModule } from './page.ts'
import type { ServePlan } from './plan.ts'
import { effectiveWindowOf, type PlannedModel, pageBytes } from './plan-model.ts'
import { publicPrefixIds } from './public-prefixes.ts'
import { demoTenants, makeKey, openState, type ServerState } from './state.ts'

/** For the last frames of answers that the engine gave up. */
const LAST_FRAMES_MS = 500

export interface RunningServer {
  readonly url: string
  /** Opens the operator's page; made anew at each start. */
  readonly pageKey: string
  /** Of the first demo tenant; null where the operator's own tenants are served. */
  readonly tenantKey: string | null
  /** Lets running requests end for `graceMs`, then ends every process and socket. */
  stop(graceMs: number): Promise<void>
}

/** Where log lines go. `wanted` is asked first: a record is not even made for an event nobody reads. */
export interface ServeLog {
  readonly wanted: (level: LogLevel) => boolean
  readonly log: (record: LogRecord) => void
}

/**
 * Starts workers, gateway and listener, in that order: nothing listens before every model can answer.
 * Throws RuntimeError where a worker cannot start and the system's error where the address cannot be had; then nothing runs.
 */
export async function startServer(
  plan: ServePlan,
  stateDirectory: string,
  { wanted, log }: ServeLog,
): Promise<RunningServer> {
  const { config } = plan
  const state = openState(stateDirectory, nodePrivateFiles, nodeRandom)
  const demo = config.demoTenants ? demoTenants(state, config.tenants) : []
  // Every file is read before a worker starts: one that is missing must leave no process behind.
  const securityTxt = config.securityTxt === null ? null : readFileSync(resolve(plan.base, config.securityTxt), 'utf8')
  const page = await loadPage(readPageModule)
  const recorder = createRecorder()
  let recordFeed = (_event: TelemetryEvent): void => undefined
  let started = false
  const telemetry = (event: TelemetryEvent): void => {
    recorder.record(event)
    recordFeed(event)
    // Who has read that a worker was lost is to read that it is back.
    const back = started && event.kind === 'worker_up'
    if (back || wanted(logLevel(event))) log(logRecord(event, nodeClock.wall()))
  }
  const engine = await startEngine({
    models: plan.models.map((model) => engineModel(model, config)),
    secrets: createSecrets(secretOf(config, state)),
    telemetry,
    drillEveryMs: config.drillEveryMilliseconds,
  })
  started = true
  const offload = createOffload({ module: offloadModule(plan.models.map(({ plan: model }) => offloadModel(model))) })
  const feed = createServeFeed({
    engine,
    clock: nodeClock,
    timers: nodeTimers,
    models: plan.models.map(({ config: model, plan: planned }) => ({
      id: model.id,
      effectiveWindow: effectiveWindowOf(planned),
      advertisedWindow: planned.limits.advertisedWindow,
      integrity: model.integrity,
    })),
  })
  recordFeed = feed.record
  const pageKey = makeKey('page', nodeRandom)
  const handler = createGateway({
    models: plan.models.map(gatewayModel),
    tenants: tenantsOf(config, demo),
    adminKeys: [nodeDigests.sha256(new TextEncoder().encode(pageKey)), ...config.adminKeys],
    engine,
    clock: nodeClock,
    random: nodeRandom,
    sha256: nodeDigests.sha256,
    offload,
    bodyLimit: config.bodyLimit,
    telemetry,
    metrics: recorder.families,
    page,
    feed,
    securityTxt,
  })
  const end = async (server: HttpServer | null, graceMs: number): Promise<void> => {
    // Answers that the engine gives up are to get their error frames out before their connections go.
    await Promise.all([server?.stop(graceMs + LAST_FRAMES_MS), engine.stop(graceMs), offload.stop()])
  }
  try {
    const server = await listen({
      ...config.listen,
      handler,
      ...(config.allowedHosts === null ? {} : { allowedHosts: config.allowedHosts }),
      limits: {
        bodyBytes: config.bodyLimit,
        // A body within its own limit must fit among all bodies, or it would be told "not now" for ever (R13).
        bodyBytesInFlight: Math.max(DEFAULT_LIMITS.bodyBytesInFlight, config.bodyLimit),
      },
      observe: ({ kind, code }) => telemetry({ kind: 'connection', what: kind, code }),
    })
    return {
      url: server.url,
      pageKey,
      tenantKey: demo[0]?.key ?? null,
      stop: (graceMs) => end(server, graceMs),
    }
  } catch (error) {
    await end(null, 0)
    throw error
  }
}

function secretOf(config: Config, state: ServerState): Uint8Array {
  return config.secret === null ? state.secret : new TextEncoder().encode(config.secret)
}

function tenantsOf(config: Config, demo: ServerState['demoTenants']): readonly Tenant[] {
  const digest = (key: string): Uint8Array => nodeDigests.sha256(new TextEncoder().encode(key))
  return [
    ...config.tenants.map(({ id, keys, limits }) => ({
      id,
      keys,
      limits: limits === null ? null : withoutNulls(limits),
    })),
    ...demo.map(({ id, key }) => ({ id, keys: [digest(key)], limits: null })),
  ]
}

function withoutNulls(limits: NonNullable<Config['tenants'][number]['limits']>): NonNullable<Tenant['limits']> {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null))
}

function engineModel({ config: model, plan }: ServePlan['models'][number], config: Config): EngineModel {
  return {
    id: model.id,
    weights: plan.wanted.weights,
    digest: plan.inspection.digest,
    shape: plan.inspection.shape,
    prefillPool: model.prefillPool,
    decodePool: model.decodePool,
    pageSize: model.pageSize,
    integrity: model.integrity,
    transport: model.transport,
    ...(model.prefixCache === 'off' ? {} : { prefixCache: prefixCacheOf(model.publicPrefixes, plan, config) }),
    scrub: model.scrub,
    threads: { prefill: model.threads, decode: model.threads },
    queuePlaces: config.queue.places,
    queueTimeoutMs: config.queue.timeoutMilliseconds,
  }
}

function prefixCacheOf(texts: readonly string[], plan: PlannedModel, { tenants }: Config): PrefixCacheOptions {
  const quotas = tenants.flatMap(({ id, limits }) => (limits?.kvBytes ? [[id, limits.kvBytes] as const] : []))
  return { publicPrefixes: publicPrefixIds(texts, plan.text.prompt), quotaBytes: new Map(quotas) }
}

function offloadModel({ wanted, inspection, text }: PlannedModel): OffloadModel {
  const { id, weights } = wanted
  return { id, weights, digest: inspection.digest, encodeLimit: text.prompt.encodeLimit }
}

function gatewayModel({ config: model, plan }: ServePlan['models'][number]): GatewayModel {
  return {
    id: model.id,
    created: Math.floor(nodeClock.wall() / 1000),
    limits: plan.limits,
    defaultMaxTokens: model.defaultMaxTokens,
    prompt: plan.text.prompt,
    tokenizer: plan.text.tokenizer,
    pageBytes: pageBytes(plan),
    integrity: model.integrity,
    transport: model.transport,
  }
}

/** Where the secret and the demo keys are kept unless told otherwise. */
export const defaultStateDirectory = (): string => join(process.cwd(), '.bulkhead')
