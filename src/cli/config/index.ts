export { keyDigest } from './keys.ts'
export { parseListen } from './listen.ts'
export { BUILT_IN_MODELS, loadConfig } from './load.ts'
export { nearest } from './nearest.ts'
export { configJsonSchema, PAGE_SIZES } from './schema.ts'
export type {
  Config,
  ConfigProblem,
  ConfigResult,
  ListenAddress,
  ModelConfig,
  TenantConfig,
  TenantLimitsConfig,
} from './types.ts'
