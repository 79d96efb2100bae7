export { DRILL_PAGES } from './drills/index.ts'
export { RuntimeError, type RuntimeErrorCode } from './errors.ts'
export {
  DEFAULT_LIMITS,
  defaultHosts,
  type HttpEvent,
  type HttpHandler,
  type HttpInfo,
  type HttpLimits,
  type HttpServer,
  type ListenOptions,
  listen,
} from './http/index.ts'
export { type EngineSeams, type LocalEngine, type LocalEngineOptions, startLocalEngine } from './local/engine.ts'
export { poolProblem, type WantedPools } from './pool-limits.ts'
export { type Engine, type EngineModel, type EngineOptions, startEngine } from './supervisor/engine.ts'
export type { EngineTransport } from './transport.ts'
export type { LeaseSink, PageSink } from './worker/ports.ts'
export { sealsAgree } from './worker/seals-agree.ts'
