import { describe, expect, it } from 'vitest'
import { type ModelLimits, poolVerdict } from './index.ts'

const limits: ModelLimits = { advertisedWindow: 2048, prefillPool: 2048, decodePool: 2048, pageSize: 16 }

describe('poolVerdict', () => {
  it('lets pools be that hold the advertised window', () => {
    expect(poolVerdict(limits, 'refuse')).toEqual({ kind: 'fits', effectiveWindow: 2048 })
  })

  it('refuses a short pool with both numbers and the key that mends it', () => {
    const verdict = poolVerdict({ ...limits, prefillPool: 1024 }, 'refuse')
    expect(verdict).toMatchObject({ kind: 'refuse', short: [{ pool: 'prefill_pool', holds: 1024, needs: 2048 }] })
    expect(verdict.kind === 'refuse' && verdict.message).toBe(
      'prefill_pool holds 1024 tokens, but the advertised context window is 2048 tokens. Raise prefill_pool to at least 2048, ' +
        'lower context_window to at most 1024, or set on_short_pool: clamp to serve the smaller window',
    )
  })

  it('names both pools where both are short', () => {
    const verdict = poolVerdict({ ...limits, prefillPool: 1000, decodePool: 2047 }, 'refuse')
    expect(verdict.kind === 'refuse' && verdict.short.map(({ pool, holds }) => [pool, holds])).toEqual([
      ['prefill_pool', 992],
      ['decode_pool', 2032],
    ])
  })

  it('serves the effective window under clamp', () => {
    expect(poolVerdict({ ...limits, prefillPool: 1024 }, 'clamp')).toMatchObject({
      kind: 'clamp',
      effectiveWindow: 1024,
    })
  })

  it('refuses a model that could not serve a single token, under clamp too', () => {
    expect(poolVerdict({ ...limits, decodePool: 15 }, 'clamp').kind).toBe('refuse')
    expect(poolVerdict({ ...limits, advertisedWindow: 1 }, 'clamp').kind).toBe('refuse')
  })
})
