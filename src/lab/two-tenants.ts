import type { EnginePort } from '../cluster/index.ts'
import { createGateway, type GatewayHandler, type GatewayOptions, type PromptModel } from '../gateway/index.ts'
import type { Clock, Offload, Random } from '../host/index.ts'
import type { LocalEngineOptions } from '../runtime/index.ts'
import type { TelemetryEvent } from '../telemetry/index.ts'
import type { Tokenizer } from '../text/index.ts'

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

export type TenantName = 'A' | 'B'

export interface LabGatewayOptions extends Pick<GatewayOptions, 'endingRule'> {
  readonly model: StageModel
  readonly host: StageHost
  readonly engine: EnginePort
  /** In tokens, as the gateway believes them. */
  readonly sizes: { readonly window: number; readonly prefill: number; readonly decode: number }
  readonly pageSize: number
  readonly telemetry: (event: TelemetryEvent) => void
}

export const MODEL_ID = 'recall'
const keyOf = (tenant: TenantName): string => `key-of-${tenant}`

/** The gateway as `serve` makes it, for one model and two tenants that no limit but the pools bounds. */
export function twoTenantGateway({ model, host, sizes, pageSize, ...given }: LabGatewayOptions): GatewayHandler {
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
  return createGateway({
    ...given,
    models: [
      {
        id: MODEL_ID,
        created: Math.floor(host.clock.wall() / 1000),
        limits: {
          advertisedWindow: sizes.window,
          prefillPool: sizes.prefill,
          decodePool: sizes.decode,
          pageSize,
        },
        defaultMaxTokens: sizes.window,
        prompt: { ...model.prompt, id: MODEL_ID, encodeLimit: sizes.window },
        tokenizer: model.tokenizer,
        pageBytes: model.kvBytesPerToken * pageSize,
        integrity: 'full',
      },
    ],
    tenants: (['A', 'B'] as const).map((id) => ({ id, keys: [host.sha256(encode(keyOf(id)))], limits: null })),
    adminKeys: [],
    clock: host.clock,
    random: host.random,
    sha256: host.sha256,
    offload: noOffload,
    metrics: () => [],
    page: [],
    feed: { subscribe: () => () => undefined },
    securityTxt: null,
  })
}

/** The prompts are a few hundred bytes; a body that would need another thread is a mistake here. */
const noOffload: Offload = { call: async (task) => Promise.reject(new Error(`no thread for ${task}`)) }

export interface Completion {
  readonly prompt: string
  readonly max_tokens: number
  readonly n?: number
}

/** A tenant asks for a greedy completion, over a real request and response. */
export function postCompletion(
  handler: GatewayHandler,
  tenant: TenantName,
  completion: Completion,
  signal?: AbortSignal,
): Promise<Response> {
  const request = new Request('http://127.0.0.1/v1/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${keyOf(tenant)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL_ID, temperature: 0, ...completion }),
    ...(signal && { signal }),
  })
  return handler(request, { remoteAddress: '127.0.0.1' })
}
