import { describe, expect, it } from 'vitest'
import { createBucket } from './bucket.ts'
import { createLimiter, type Grant } from './limiter.ts'
import type { Tenant, TenantLimits } from './types.ts'

const tenant = (limits: TenantLimits | null, id = 'a'): Tenant => ({ id, keys: [], limits })
const cost = (tokens: number, kvBytes = 0): { tokens: number; kvBytes: number } => ({ tokens, kvBytes })

describe('createBucket', () => {
  it('holds a minute and refills evenly', () => {
    const bucket = createBucket(60, 0)
    for (let i = 0; i < 60; i++) bucket.take(1, 0)
    expect(bucket.wait(1, 0)).toBe(1000)
    expect(bucket.wait(1, 400)).toBe(600)
    expect(bucket.wait(1, 1000)).toBe(0)
    expect(bucket.remaining(30_000)).toBe(30)
    expect(bucket.remaining(600_000)).toBe(60)
  })

  it('lets a cost above its capacity through when full, and then owes', () => {
    const bucket = createBucket(60, 0)
    expect(bucket.wait(180, 0)).toBe(0)
    bucket.take(180, 0)
    expect(bucket.remaining(0)).toBe(0)
    expect(bucket.wait(1, 0)).toBe(121_000)
  })

  it('is not moved by a clock that stands still or runs back', () => {
    const bucket = createBucket(60, 1000)
    bucket.take(60, 1000)
    expect(bucket.remaining(0)).toBe(0)
    expect(bucket.wait(1, 1000)).toBe(1000)
  })
})

const granted = (decision: ReturnType<ReturnType<typeof createLimiter>['admit']>): Grant => {
  if (decision.kind !== 'granted') throw new Error(decision.error.message)
  return decision.grant
}

describe('createLimiter', () => {
  it('bounds nothing for a tenant without limits', () => {
    const limiter = createLimiter()
    for (let i = 0; i < 1000; i++) granted(limiter.admit(tenant(null), cost(1e9), 0))
    expect(limiter.headers(tenant(null), 0)).toEqual({})
  })

  it('bounds what runs at once, and frees the place once', () => {
    const limiter = createLimiter()
    const a = tenant({ concurrent: 2 })
    const first = granted(limiter.admit(a, cost(1), 0))
    granted(limiter.admit(a, cost(1), 0))
    expect(limiter.admit(a, cost(1), 0)).toMatchObject({
      kind: 'limited',
      error: { code: 'rate_limit_exceeded', retryAfterSeconds: 1 },
    })
    granted(limiter.admit(tenant({ concurrent: 2 }, 'b'), cost(1), 0))
    first.settle(1, 0)
    first.settle(1, 0)
    granted(limiter.admit(a, cost(1), 0))
    expect(limiter.admit(a, cost(1), 0).kind).toBe('limited')
  })

  it('says how long to wait for the next request', () => {
    const limiter = createLimiter()
    const a = tenant({ requestsPerMinute: 2 })
    granted(limiter.admit(a, cost(1), 0))
    granted(limiter.admit(a, cost(1), 0))
    expect(limiter.admit(a, cost(1), 0)).toMatchObject({ kind: 'limited', error: { retryAfterSeconds: 30 } })
    expect(limiter.admit(a, cost(1), 29_000)).toMatchObject({ error: { retryAfterSeconds: 1 } })
    granted(limiter.admit(a, cost(1), 30_000))
  })

  it('reserves tokens and settles for what was used', () => {
    const limiter = createLimiter()
    const a = tenant({ tokensPerMinute: 1000 })
    const grant = granted(limiter.admit(a, cost(900), 0))
    expect(limiter.admit(a, cost(200), 0).kind).toBe('limited')
    grant.settle(100, 0)
    expect(limiter.headers(a, 0)).toEqual({
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '900',
      'x-ratelimit-reset-tokens': '6s',
    })
    granted(limiter.admit(a, cost(900), 0))
  })

  it('a refused request costs nothing', () => {
    const limiter = createLimiter()
    const a = tenant({ requestsPerMinute: 10, tokensPerMinute: 100 })
    granted(limiter.admit(a, cost(100), 0))
    for (let i = 0; i < 50; i++) expect(limiter.admit(a, cost(100), 0).kind).toBe('limited')
    expect(limiter.headers(a, 0)['x-ratelimit-remaining-requests']).toBe('9')
  })

  it('bounds KV bytes: over now is 429, over ever is 400', () => {
    const limiter = createLimiter()
    const a = tenant({ kvBytes: 100 })
    const grant = granted(limiter.admit(a, cost(1, 80), 0))
    expect(limiter.admit(a, cost(1, 30), 0)).toMatchObject({ error: { code: 'rate_limit_exceeded' } })
    expect(limiter.admit(a, cost(1, 101), 0)).toMatchObject({
      error: { code: 'kv_quota_exceeded', retryAfterSeconds: null },
    })
    grant.settle(0, 0)
    granted(limiter.admit(a, cost(1, 30), 0))
  })

  it('writes durations as OpenAI does', () => {
    const limiter = createLimiter()
    const a = tenant({ requestsPerMinute: 60, tokensPerMinute: 60 })
    expect(limiter.headers(a, 0)['x-ratelimit-reset-requests']).toBe('0ms')
    granted(limiter.admit(a, cost(600), 0))
    expect(limiter.headers(a, 0)).toMatchObject({
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-reset-tokens': '10m0s',
    })
  })
})
