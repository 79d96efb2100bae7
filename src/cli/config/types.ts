/** A checked configuration, with every default filled in. Keys are digests here: no key in the clear outlives loading. */
export interface Config {
  /** `built-in`: there was no file. */
  readonly source: 'file' | 'built-in'
  readonly listen: ListenAddress
  /** Null: the names of what it listens on. */
  readonly allowedHosts: readonly string[] | null
  /** Null: kept in the state directory. */
  readonly secret: string | null
  /** SHA-256 of each admin key. */
  readonly adminKeys: readonly Uint8Array[]
  readonly tenants: readonly TenantConfig[]
  /** Make demo tenants: there is no file, or neither it nor BULKHEAD_KEYS names a tenant. */
  readonly demoTenants: boolean
  readonly models: readonly ModelConfig[]
  readonly queue: { readonly timeoutMilliseconds: number; readonly places: number }
  /** How often each worker drills its detectors (R14). */
  readonly drillEveryMilliseconds: number
  /** Bytes. */
  readonly bodyLimit: number
  /** A file, relative to the configuration's folder; null: `/.well-known/security.txt` is a 404. */
  readonly securityTxt: string | null
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface TenantConfig {
  readonly id: string
  /** SHA-256 of each key. */
  readonly keys: readonly Uint8Array[]
  /** Null: bounded by the pools alone. In `limits`, null: no bound of this kind. */
  readonly limits: TenantLimitsConfig | null
}

export interface TenantLimitsConfig {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly concurrent: number | null
  /** Bytes, of two things apart: KV contracted by running requests, and pages cached in each model's prefill pool. */
  readonly kvBytes: number | null
}

/** One model on the own engine. Pools in tokens. */
export interface ModelConfig {
  readonly id: string
  /** A model of this package by name, or a file relative to the configuration's folder. */
  readonly weights:
    | { readonly kind: 'built-in'; readonly name: string }
    | { readonly kind: 'file'; readonly path: string }
  /** What is advertised; null: what the file says. */
  readonly contextWindow: number | null
  readonly onShortPool: 'refuse' | 'clamp'
  /** Output tokens at most where a client sets no limit. */
  readonly defaultMaxTokens: number
  readonly prefillPool: number
  readonly decodePool: number
  readonly pageSize: number
  readonly kvDtype: 'f32'
  readonly prefixCache: 'on' | 'off'
  /** Texts whose cached pages are shared between tenants, as beginnings of prompts and as system messages. */
  readonly publicPrefixes: readonly string[]
  readonly integrity: 'full' | 'tags'
  readonly scrub: 'tags' | 'zero' | 'poison'
  /**
   * How the model's two workers are joined: as processes by a private Unix socket or by TLS over TCP on the loopback interface, or as
   * threads of one process by the memory that holds both pools.
   */
  readonly transport: 'socket' | 'tcp' | 'shared'
  /** ONNX Runtime threads of each of the model's two workers. */
  readonly threads: number
}

/** One thing that is wrong. `received` and `message` never show a key or a secret. */
export interface ConfigProblem {
  /** As written in the file, e.g. `models[0].engine.prefill_pool`; or the name of an environment variable. */
  readonly path: string
  readonly expected: string
  readonly received: string
  readonly message: string
}

export type ConfigResult =
  | { readonly kind: 'ok'; readonly config: Config }
  | { readonly kind: 'refused'; readonly problems: readonly ConfigProblem[] }
