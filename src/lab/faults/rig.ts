import {
  type EnginePort,
  type PoolUse,
  type PrefixCacheOptions,
  privatePrefixes,
  type Transport,
} from '../../cluster/index.ts'
import type { GatewayHandler } from '../../gateway/index.ts'
import type { ForwardPass, ForwardPlan } from '../../model/index.ts'
import { startLocalEngine } from '../../runtime/index.ts'
import type { Role, TelemetryEvent } from '../../telemetry/index.ts'
import type { FenceRule } from '../partial-fences.ts'
import { MODEL_ID, postCompletion, twoTenantGateway } from '../two-tenants.ts'
import type { Workshop } from './bench.ts'
import { PAGE_SIZE, type Part, type Tenant } from './cast.ts'
import type { Guards, Rule } from './rules.ts'
import type { Sabotage, Wire } from './sabotage.ts'

/** Tokens of each pool, and what is advertised. */
export interface Sizes {
  readonly window: number
  readonly prefill: number
  readonly decode: number
}

export interface RigOptions {
  readonly guards: Guards
  readonly bookkeeping: readonly FenceRule[]
  readonly sizes?: Partial<Sizes>
  /** What the gateway believes of the pools where R2 is off; default: the truth. */
  readonly believed?: Partial<Sizes>
  /** Absent: no prefix cache, and every page goes home with its request. What is not named is as `serve` has it. */
  readonly prefixCache?: Partial<PrefixCacheOptions>
  /** Default `socket`: decode places what prefill sends. `shared`: prefill stores into decode's pages itself. */
  readonly transport?: Transport
  readonly sabotage?: (wire: Wire) => Sabotage
}

export interface Reply {
  readonly part: Part
  readonly asked: AskOptions
  readonly status: number
  /** Of each choice; empty for an error. */
  readonly texts: readonly string[]
  readonly finishReasons: readonly string[]
  readonly code: string | null
}

export interface AskOptions {
  readonly maxTokens?: number
  readonly n?: number
}

export interface Asking {
  readonly reply: Promise<Reply>
  /** The client goes away. */
  abort(): void
}

/** One engine with its gateway, asked by two tenants over real requests and responses. */
export interface Rig extends Wire {
  ask(part: Part, options?: AskOptions): Promise<Reply>
  /** Asks and does not wait. */
  begin(part: Part, options?: AskOptions): Asking
  readonly events: readonly TelemetryEvent[]
  /** Rules whose checks a play has seen fire. */
  readonly seen: readonly Rule[]
  /** Codes with which the engine ended requests, in order. */
  readonly failures: readonly string[]
  pool(role: Role): PoolUse
  /** Resolves once `happened`, looked at about every millisecond; throws if it does not, so that a play that went astray says so. */
  until(happened: () => boolean): Promise<void>
  /** Until nothing is left to do but what waits for something from outside: a few milliseconds. */
  quiet(): Promise<void>
  /** Until no request is anywhere and every page is home, or in the cache. */
  settled(): Promise<void>
  /** Tells the gateway what the pools have become. */
  believe(sizes: Partial<Sizes>): void
  close(): Promise<void>
}

const ANSWER_TOKENS = 8
const PATIENCE_TURNS = 5_000
const QUIET_TURNS = 10
const DEFAULT_SIZES: Sizes = { window: 128, prefill: 256, decode: 256 }

export async function openRig(workshop: Workshop, options: RigOptions): Promise<Rig> {
  const events: TelemetryEvent[] = []
  const telemetry = (event: TelemetryEvent): void => void events.push(event)
  const sizes = { ...DEFAULT_SIZES, ...options.sizes }
  const failures: string[] = []
  const tenants = new Map<string, Tenant>()
  const fired: Rule[] = []
  const wire: Wire = {
    tenantOf: (requestId) => tenants.get(requestId),
    fired: (rule) => void fired.push(rule),
  }
  const sabotage = options.sabotage?.(wire) ?? {}
  const { toPrefill, toDecode } = sabotage
  const local = await startLocalEngine({
    model: {
      id: MODEL_ID,
      ...workshop.model.file,
      prefillPool: sizes.prefill,
      decodePool: sizes.decode,
      pageSize: PAGE_SIZE,
    },
    fences: options.guards.fences(options.bookkeeping),
    telemetry,
    ...(options.transport && { transport: options.transport }),
    ...(options.prefixCache && { prefixCache: { ...privatePrefixes, ...options.prefixCache } }),
    rewrite: { ...(toPrefill && { toPrefill }), ...(toDecode && { toDecode }) },
    seams: { ...sabotage, pass: (role, kernels, pageSize) => spoilt(role, workshop.pass(kernels, pageSize), sabotage) },
  })
  const noting: EnginePort = {
    models: local.models,
    submit: (request, sink) => {
      tenants.set(request.requestId, request.tenant as Tenant)
      return local.submit(request, (event) => {
        if (event.kind === 'failed') failures.push(event.code)
        sink(event)
      })
    },
  }
  const engine = sabotage.engine?.(noting) ?? noting
  const believed = options.guards.has('R2') ? sizes : { ...sizes, ...options.believed }
  let handler = gatewayOf(workshop, believed, engine, telemetry, options.guards)
  const pool = (role: Role): PoolUse => local.models()[0]!.pools[role]
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn++) await new Promise<void>((next) => workshop.host.timers.after(0, next))
  }
  const until = async (happened: () => boolean): Promise<void> => {
    for (let turn = 0; turn < PATIENCE_TURNS; turn++) {
      if (happened()) return
      await turns(1)
    }
    throw new Error('what the play waits for did not happen')
  }
  const begin = (part: Part, asked: AskOptions = {}): Asking => {
    const client = new AbortController()
    return { reply: ask(handler, part, asked, client.signal), abort: () => client.abort() }
  }
  return {
    ...wire,
    begin,
    ask: (part, asked) => begin(part, asked).reply,
    events,
    seen: fired,
    failures,
    pool,
    until,
    quiet: () => turns(QUIET_TURNS),
    settled: () =>
      until(() => {
        const home = (role: Role): boolean => pool(role).free + (pool(role).cached ?? 0) === pool(role).total
        return home('prefill') && home('decode') && local.models()[0]!.running === 0
      }),
    believe: (changed) => {
      handler = gatewayOf(workshop, { ...believed, ...changed }, engine, telemetry, options.guards)
    },
    close: () => local.close(),
  }
}

function spoilt(role: Role, pass: ForwardPass, { plan: rewrite, beforePass, result: after }: Sabotage): ForwardPass {
  return {
    shape: pass.shape,
    close: () => pass.close(),
    run: async (plan: ForwardPlan, onLayer) => {
      await beforePass?.(role, plan)
      const result = await pass.run(rewrite?.(role, plan) ?? plan, onLayer)
      return after?.(role, result) ?? result
    },
  }
}

function gatewayOf(
  { model, host }: Workshop,
  sizes: Sizes,
  engine: EnginePort,
  telemetry: (event: TelemetryEvent) => void,
  guards: Guards,
): GatewayHandler {
  const endings = guards.has('R12') ? {} : { endingRule: () => true }
  return twoTenantGateway({ model, host, sizes, engine, telemetry, pageSize: PAGE_SIZE, ...endings })
}

async function ask(handler: GatewayHandler, part: Part, asked: AskOptions, signal: AbortSignal): Promise<Reply> {
  const { maxTokens = ANSWER_TOKENS, n = 1 } = asked
  const { tenant, prompt } = part
  const response = await postCompletion(handler, tenant, { prompt, max_tokens: maxTokens, n }, signal)
  const body = (await response.json().catch(() => ({}))) as {
    readonly choices?: readonly { readonly text: string; readonly finish_reason: string }[]
    readonly error?: { readonly code: string }
  }
  return {
    part,
    asked,
    status: response.status,
    texts: body.choices?.map(({ text }) => text) ?? [],
    finishReasons: body.choices?.map(({ finish_reason }) => finish_reason) ?? [],
    code: body.error?.code ?? null,
  }
}
