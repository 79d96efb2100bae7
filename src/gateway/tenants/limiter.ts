import { type ErrorBody, errorBody } from '../errors.ts'
import { type Bucket, createBucket } from './bucket.ts'
import type { Tenant, TenantLimits } from './types.ts'

/** The most a request can use, reserved before it starts. */
export interface Cost {
  readonly tokens: number
  readonly kvBytes: number
}

export interface Grant {
  /** Ends the reservation: only `tokensUsed` stay charged. A second call does nothing. */
  settle(tokensUsed: number, now: number): void
}

export type LimitDecision =
  | { readonly kind: 'granted'; readonly grant: Grant }
  | { readonly kind: 'limited'; readonly error: ErrorBody }

export interface Limiter {
  /** Takes everything or nothing. `now` in milliseconds, monotonic. */
  admit(tenant: Tenant, cost: Cost, now: number): LimitDecision
  /** OpenAI's `x-ratelimit-*` headers, empty for a tenant without rates. */
  headers(tenant: Tenant, now: number): Readonly<Record<string, string>>
}

interface Account {
  readonly limits: TenantLimits
  readonly requests: Bucket | null
  readonly tokens: Bucket | null
  running: number
  kvBytes: number
}

const openAccount = (limits: TenantLimits, now: number): Account => ({
  limits,
  requests: limits.requestsPerMinute === undefined ? null : createBucket(limits.requestsPerMinute, now),
  tokens: limits.tokensPerMinute === undefined ? null : createBucket(limits.tokensPerMinute, now),
  running: 0,
  kvBytes: 0,
})

const limited = (what: string, waitMs: number): LimitDecision => ({
  kind: 'limited',
  error: errorBody({
    code: 'rate_limit_exceeded',
    message: `Rate limit reached for ${what}. Please try again later.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  }),
})

/** When a slot or memory frees up depends on other requests, so the advice is only "soon". */
const soon = 1000

const judge = (account: Account, cost: Cost, now: number): LimitDecision | null => {
  const { limits } = account
  if (limits.kvBytes !== undefined && cost.kvBytes > limits.kvBytes) {
    return {
      kind: 'limited',
      error: errorBody({
        code: 'kv_quota_exceeded',
        message: `This request needs ${cost.kvBytes} bytes of KV cache, and your quota is ${limits.kvBytes}.`,
        details: { kv_bytes: cost.kvBytes, kv_bytes_quota: limits.kvBytes },
      }),
    }
  }
  if (limits.concurrent !== undefined && account.running >= limits.concurrent) {
    return limited(`concurrent requests (limit ${limits.concurrent})`, soon)
  }
  if (limits.kvBytes !== undefined && account.kvBytes + cost.kvBytes > limits.kvBytes) {
    return limited(`KV cache in use (limit ${limits.kvBytes} bytes)`, soon)
  }
  const requestWait = account.requests?.wait(1, now) ?? 0
  if (requestWait > 0) return limited(`requests per minute (limit ${account.requests?.capacity})`, requestWait)
  const tokenWait = account.tokens?.wait(cost.tokens, now) ?? 0
  if (tokenWait > 0) return limited(`tokens per minute (limit ${account.tokens?.capacity})`, tokenWait)
  return null
}

const unbounded: Grant = { settle: () => undefined }

/** Rates, concurrency and KV quota per tenant: reserve before the request starts, settle when it has ended. */
export const createLimiter = (): Limiter => {
  const accounts = new Map<string, Account>()
  const accountOf = (tenant: Tenant, limits: TenantLimits, now: number): Account => {
    const found = accounts.get(tenant.id) ?? openAccount(limits, now)
    accounts.set(tenant.id, found)
    return found
  }
  return {
    admit(tenant, cost, now): LimitDecision {
      if (tenant.limits === null) return { kind: 'granted', grant: unbounded }
      const account = accountOf(tenant, tenant.limits, now)
      const refusal = judge(account, cost, now)
      if (refusal) return refusal
      account.running += 1
      account.kvBytes += cost.kvBytes
      account.requests?.take(1, now)
      account.tokens?.take(cost.tokens, now)
      let settled = false
      return {
        kind: 'granted',
        grant: {
          settle(tokensUsed, at): void {
            if (settled) return
            settled = true
            account.running -= 1
            account.kvBytes -= cost.kvBytes
            account.tokens?.refund(cost.tokens - tokensUsed, at)
          },
        },
      }
    },
    headers(tenant, now): Readonly<Record<string, string>> {
      if (tenant.limits === null) return {}
      const account = accountOf(tenant, tenant.limits, now)
      return { ...bucketHeaders('requests', account.requests, now), ...bucketHeaders('tokens', account.tokens, now) }
    },
  }
}

const bucketHeaders = (unit: string, bucket: Bucket | null, now: number): Record<string, string> =>
  bucket === null
    ? {}
    : {
        [`x-ratelimit-limit-${unit}`]: String(bucket.capacity),
        [`x-ratelimit-remaining-${unit}`]: String(bucket.remaining(now)),
        [`x-ratelimit-reset-${unit}`]: duration(bucket.untilFull(now)),
      }

/** As OpenAI writes them: `120ms`, `1.5s`, `6m0s`. */
const duration = (ms: number): string => {
  if (ms < 1000) return `${ms}ms`
  if (ms < 60_000) return `${Math.ceil(ms / 100) / 10}s`
  const seconds = Math.ceil(ms / 1000)
  return `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
