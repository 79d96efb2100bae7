import type { ModelLimits } from '../admission/index.ts'
import type { EnginePort } from '../cluster/index.ts'
import type { Clock, Offload, Random } from '../host/index.ts'
import type { MetricFamily, TelemetryEvent } from '../telemetry/index.ts'
import type { Tokenizer } from '../text/index.ts'
import type { EndingRule } from './exchange/index.ts'
import type { PromptModel } from './input/index.ts'
import type { Tenant } from './tenants/index.ts'

/** A served model as the gateway needs it; fixed while the gateway lives. */
export interface GatewayModel {
  readonly id: string
  /** Seconds since 1970; the file's date or the start of the server. */
  readonly created: number
  readonly limits: ModelLimits
  /** Output allowed where a client sets no limit, at most. */
  readonly defaultMaxTokens: number
  readonly prompt: PromptModel
  readonly tokenizer: Tokenizer
  /** Bytes of KV in one decode page over all layers; what a tenant's `kvBytes` counts in. */
  readonly pageBytes: number
  /** `tags`: served without seals (R8), and every receipt says so. */
  readonly integrity: 'full' | 'tags'
  /** How its KV pages reach decode; shown by `/ready`. Absent where there is but one way. */
  readonly transport?: string
}

/** One file of the operator's page. */
export interface StaticAsset {
  readonly path: string
  readonly contentType: string
  readonly body: string
}

/** The page's data: each push is one whole state as JSON on one line. */
export interface FeedSource {
  /** Pushes the present state at once and each new one later, until the returned function is called. */
  subscribe(push: (json: string) => void): () => void
}

export interface GatewayOptions {
  readonly models: readonly GatewayModel[]
  readonly tenants: readonly Tenant[]
  /** SHA-256 of each admin key. */
  readonly adminKeys: readonly Uint8Array[]
  readonly engine: EnginePort
  readonly clock: Clock
  readonly random: Random
  readonly sha256: (data: Uint8Array) => Uint8Array
  /** Runs the tasks of `prepareTasks` on another thread. */
  readonly offload: Offload
  /** Bodies above this many bytes are prepared there. */
  readonly offloadAbove?: number
  readonly bodyLimit?: number
  readonly telemetry: (event: TelemetryEvent) => void
  /** What was recorded so far; gauges are read from the engine at each scrape. */
  readonly metrics: () => readonly MetricFamily[]
  readonly page: readonly StaticAsset[]
  readonly feed: FeedSource
  /** Contents of `/.well-known/security.txt`; null: 404. */
  readonly securityTxt: string | null
  /** How an answer may end (R12), where the laboratory hands in a laxer one; absent in every server. */
  readonly endingRule?: EndingRule
}

/** What the socket side knows of a request and `Request` cannot say. */
export interface RequestInfo {
  readonly remoteAddress: string
  /** Tells a host that bounds bodies in flight that this one is held no more; absent where the host counts none. */
  readonly releaseBody?: () => void
}

export type GatewayHandler = (request: Request, info: RequestInfo) => Promise<Response>

export const defaultOffloadAbove = 256 * 1024
export const defaultBodyLimit = 32 * 1024 * 1024
