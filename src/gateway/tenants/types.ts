/** Absent limits do not bind; a tenant without limits is bounded by the pools alone. */
export interface TenantLimits {
  readonly requestsPerMinute?: number
  /** Prompt and output tokens together. */
  readonly tokensPerMinute?: number
  readonly concurrent?: number
  /** Bytes of KV that all of the tenant's running requests may hold on the decode side. */
  readonly kvBytes?: number
}

export interface Tenant {
  readonly id: string
  /** SHA-256 of each key; the keys themselves are nowhere in the gateway. */
  readonly keys: readonly Uint8Array[]
  readonly limits: TenantLimits | null
}
