export { bearerToken, createKeyRing, type KeyRing } from './keys.ts'
export { createLimiter, type Grant, type Limiter } from './limiter.ts'
export { outputWithin } from './quota.ts'
export type { Tenant, TenantLimits } from './types.ts'
