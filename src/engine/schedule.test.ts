import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adaptChunkLimit, pickBatch, planChunks, type Runnable } from './index.ts'

describe('pickBatch', () => {
  const runnable = (tenant: string, arrival: number, lastPass = -1): Runnable => ({ tenant, arrival, lastPass })

  it('takes everybody when they fit', () => {
    const all = [runnable('a', 0), runnable('b', 1)]
    expect(pickBatch(all, 2)).toEqual(all)
  })

  it('shares places between tenants, however many sequences one has', () => {
    const all = [...Array.from({ length: 10 }, (_, i) => runnable('a', i)), runnable('b', 10), runnable('b', 11)]
    const picked = pickBatch(all, 4)
    expect(picked.filter((one) => one.tenant === 'b')).toHaveLength(2)
  })

  it('serves everybody within as many passes as it takes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 8 }),
        (tenants, max) => {
          const all = tenants.map((tenant, arrival) => ({ tenant, arrival, lastPass: -1 }))
          for (let pass = 0; pass < tenants.length; pass++) for (const one of pickBatch(all, max)) one.lastPass = pass
          expect(all.every((one) => one.lastPass >= 0)).toBe(true)
        },
      ),
    )
  })
})

describe('planChunks', () => {
  const job = (arrival: number, remaining: number): { arrival: number; remaining: number } => ({ arrival, remaining })

  it('gives a lone prompt the whole pass', () => {
    expect(planChunks([job(0, 1000)], 64)).toEqual([{ job: job(0, 1000), rows: 64 }])
  })

  it('lets short prompts through beside a long one that keeps moving', () => {
    const chunks = planChunks([job(0, 1000), job(1, 900), job(2, 10), job(3, 5)], 64)
    expect(chunks.map(({ job: { arrival }, rows }) => [arrival, rows])).toEqual([
      [0, 32],
      [3, 5],
      [2, 10],
      [1, 17],
    ])
  })

  it('never plans more than the limit nor more than a prompt has, and always moves the oldest', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 128 }),
        (remaining, max) => {
          const chunks = planChunks(
            remaining.map((rows, arrival) => job(arrival, rows)),
            max,
          )
          const sum = chunks.reduce((rows, chunk) => rows + chunk.rows, 0)
          const wanted = remaining.reduce((rows, one) => rows + one, 0)
          expect(sum).toBe(Math.min(max, wanted))
          expect(chunks.every((chunk) => chunk.rows >= 1 && chunk.rows <= chunk.job.remaining)).toBe(true)
          expect(chunks[0]!.job.arrival).toBe(0)
        },
      ),
    )
  })
})

describe('adaptChunkLimit', () => {
  const options = { maxRows: 512, layers: 10, layerBudgetSeconds: 0.05 }

  it('sinks at once to what the budget allows', () => {
    expect(adaptChunkLimit(512, { rows: 512, seconds: 1 }, options)).toBe(256)
  })

  it('rises slowly, and never above the configured limit', () => {
    expect(adaptChunkLimit(100, { rows: 100, seconds: 0.1 }, options)).toBe(125)
    expect(adaptChunkLimit(500, { rows: 500, seconds: 0.1 }, options)).toBe(512)
  })

  it('learns nothing from small passes within the budget, nor from a clock that stood still', () => {
    expect(adaptChunkLimit(512, { rows: 4, seconds: 0.4 }, options)).toBe(512)
    expect(adaptChunkLimit(512, { rows: 512, seconds: 0 }, options)).toBe(512)
  })

  it('keeps a floor', () => {
    expect(adaptChunkLimit(32, { rows: 32, seconds: 100 }, options)).toBe(16)
  })
})
