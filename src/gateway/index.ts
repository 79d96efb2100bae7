export type { ErrorBody, ErrorDetails, GatewayCode } from './errors.ts'
export {
  createExchange,
  type Ending,
  type Exchange,
  type ExchangeEffect,
  type ExchangeEvent,
} from './exchange/index.ts'
export { createGateway } from './gateway.ts'
export { createPromptModel, type PromptModel, prepareTasks } from './input/index.ts'
export type {
  FeedSource,
  GatewayHandler,
  GatewayModel,
  GatewayOptions,
  RequestInfo,
  StaticAsset,
} from './options.ts'
export { createPageHandler } from './page-handler.ts'
export type { Tenant, TenantLimits } from './tenants/index.ts'
