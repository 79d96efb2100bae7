import { fullFences, type PoolUse } from '../../cluster/index.ts'
import { createGateway, type GatewayHandler, type PromptModel } from '../../gateway/index.ts'
import type { Clock, Offload, Random } from '../../host/index.ts'
import { type LocalEngineOptions, startLocalEngine } from '../../runtime/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { Tokenizer } from '../../text/index.ts'
import { type FenceRule, partialFences } from '../partial-fences.ts'
import { type Placeholders, rejectedButAlive } from './leaky-engine.ts'
import { PAGE_SIZE, PREFILL_POOL, type Tenant, WINDOW } from './scenario.ts'

/** The `recall` model and what a gateway needs, from outside. */
export interface StageModel {
  readonly file: Pick<LocalEngineOptions['model'], 'weights' | 'digest' | 'shape'>
  readonly kvBytesPerToken: number
  readonly prompt: PromptModel
  readonly tokenizer: Tokenizer
}

export interface StageHost {
  readonly clock: Clock
  readonly random: Random
  readonly sha256: (data: Uint8Array) => Uint8Array
}

/** `bulkhead`: as `serve` builds it. `unguarded`: the fault of 2026, with only these rules switched on. */
export type StageKind =
  | { readonly kind: 'bulkhead' }
  | { readonly kind: 'unguarded'; readonly only: readonly FenceRule[] }

export interface StageReply {
  readonly status: number
  readonly body: unknown
}

export interface Pools {
  readonly prefill: PoolUse
  readonly decode: PoolUse
}

/** One engine with its gateway, asked by two tenants over real requests and responses. */
export interface Stage {
  ask(tenant: Tenant, maxTokens: number): Promise<StageReply>
  pools(): Pools
  /** Calls back after every step of either worker. */
  observe(observer: (pools: Pools) => void): void
  readonly events: readonly TelemetryEvent[]
  close(): Promise<void>
}

/** A free list that works and counts that add up: the engines of 2026 had those, and leaked all the same. */
const BOOKKEEPING: readonly FenceRule[] = ['R6', 'R7']

const MODEL_ID = 'recall'
const keyOf = (tenant: Tenant['name']): string => `key-of-${tenant}`

export async function openStage(
  which: StageKind,
  model: StageModel,
  host: StageHost,
  pace?: LocalEngineOptions['pace'],
): Promise<Stage> {
  const events: TelemetryEvent[] = []
  const telemetry = (event: TelemetryEvent): void => void events.push(event)
  const leak: Placeholders | null = which.kind === 'unguarded' ? rejectedButAlive(PREFILL_POOL) : null
  let observer: ((pools: Pools) => void) | null = null
  const pools = (): Pools => engine.models()[0]!.pools
  const engine = await startLocalEngine({
    model: { id: MODEL_ID, ...model.file, prefillPool: PREFILL_POOL, decodePool: WINDOW, pageSize: PAGE_SIZE },
    fences: which.kind === 'bulkhead' ? fullFences() : partialFences([...BOOKKEEPING, ...which.only]),
    telemetry,
    onStep: () => observer?.(pools()),
    ...(pace === undefined ? {} : { pace }),
    ...(leak === null ? {} : { rewrite: rewriteOf(leak, which) }),
  })
  const handler = gatewayOf(which, model, host, leak === null ? engine : leak.wrap(engine), telemetry)
  return {
    ask: (tenant, maxTokens) => ask(handler, tenant, maxTokens),
    pools,
    observe: (callback) => {
      observer = callback
    },
    events,
    close: engine.close,
  }
}

/** Where R5 is on, a row that stands is not written again, so decode's last prompt row is left as prefill sent it. */
function rewriteOf({ toPrefill, forward }: Placeholders, which: StageKind): NonNullable<LocalEngineOptions['rewrite']> {
  return which.kind === 'unguarded' && which.only.includes('R5') ? { toPrefill } : { toPrefill, forward }
}

/** The unguarded gateway believes what is advertised and never asks for prefill's pool: the mismatch of 2026. */
function gatewayOf(
  which: StageKind,
  model: StageModel,
  host: StageHost,
  engine: Parameters<typeof createGateway>[0]['engine'],
  telemetry: (event: TelemetryEvent) => void,
): GatewayHandler {
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
  return createGateway({
    models: [
      {
        id: MODEL_ID,
        created: Math.floor(host.clock.wall() / 1000),
        limits: {
          advertisedWindow: WINDOW,
          prefillPool: which.kind === 'bulkhead' ? PREFILL_POOL : WINDOW,
          decodePool: WINDOW,
          pageSize: PAGE_SIZE,
        },
        defaultMaxTokens: WINDOW,
        prompt: { ...model.prompt, id: MODEL_ID, encodeLimit: WINDOW },
        tokenizer: model.tokenizer,
        pageBytes: model.kvBytesPerToken * PAGE_SIZE,
        integrity: 'full',
      },
    ],
    tenants: (['A', 'B'] as const).map((name) => ({
      id: name,
      keys: [host.sha256(encode(keyOf(name)))],
      limits: null,
    })),
    adminKeys: [],
    engine,
    clock: host.clock,
    random: host.random,
    sha256: host.sha256,
    offload: noOffload,
    telemetry,
    metrics: () => [],
    page: [],
    feed: { subscribe: () => () => undefined },
    securityTxt: null,
  })
}

/** The two prompts are a few hundred bytes; a body that would need another thread is a mistake here. */
const noOffload: Offload = { call: async (task) => Promise.reject(new Error(`no thread for ${task}`)) }

async function ask(handler: GatewayHandler, tenant: Tenant, maxTokens: number): Promise<StageReply> {
  const request = new Request('http://127.0.0.1/v1/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${keyOf(tenant.name)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL_ID, prompt: tenant.prompt, max_tokens: maxTokens, temperature: 0 }),
  })
  const response = await handler(request, { remoteAddress: '127.0.0.1' })
  return { status: response.status, body: await response.json() }
}
