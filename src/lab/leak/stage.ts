import { fullFences, type PoolUse } from '../../cluster/index.ts'
import { type LocalEngineOptions, startLocalEngine } from '../../runtime/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { type FenceRule, partialFences } from '../partial-fences.ts'
import { MODEL_ID, postCompletion, type StageHost, type StageModel, twoTenantGateway } from '../two-tenants.ts'
import { type Placeholders, rejectedButAlive } from './leaky-engine.ts'
import { PAGE_SIZE, PREFILL_POOL, type Tenant, WINDOW } from './scenario.ts'

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
  const handler = twoTenantGateway({
    model,
    host,
    engine: leak === null ? engine : leak.wrap(engine),
    // The unguarded gateway believes what is advertised and never asks for prefill's pool: the mismatch of 2026.
    sizes: { window: WINDOW, prefill: which.kind === 'bulkhead' ? PREFILL_POOL : WINDOW, decode: WINDOW },
    pageSize: PAGE_SIZE,
    telemetry,
  })
  return {
    ask: async ({ name, prompt }, maxTokens) => {
      const response = await postCompletion(handler, name, { prompt, max_tokens: maxTokens })
      return { status: response.status, body: await response.json() }
    },
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
