import type { PromptModel } from './input/index.ts'
import type { GatewayModel, GatewayOptions } from './options.ts'
import { createKeyRing, createLimiter, type KeyRing, type Limiter, type Tenant } from './tenants/index.ts'

/** What every surface works with: the options, and what was made of them once. */
export interface GatewayContext {
  readonly options: GatewayOptions
  readonly models: ReadonlyMap<string, GatewayModel>
  readonly prompts: ReadonlyMap<string, PromptModel>
  readonly keys: KeyRing
  readonly limiter: Limiter
  readonly assets: ReadonlySet<string>
}

export const createContext = (options: GatewayOptions): GatewayContext => ({
  options,
  models: new Map(options.models.map((model) => [model.id, model])),
  prompts: new Map(options.models.map((model) => [model.id, model.prompt])),
  keys: createKeyRing(options.tenants, options.adminKeys, options.sha256),
  limiter: createLimiter(),
  assets: new Set(options.page.map((asset) => asset.path)),
})

/** One authenticated request on its way through a surface. */
export interface Call {
  readonly request: Request
  readonly requestId: string
  readonly tenant: Tenant
  /** Nothing of the body is held any more. */
  readonly releaseBody: () => void
  /** Monotonic milliseconds at which it arrived. */
  readonly arrivedAt: number
}
