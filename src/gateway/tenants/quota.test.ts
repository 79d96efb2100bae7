import fc from 'fast-check'
import { expect, it } from 'vitest'
import { contractLayout } from '../../kv/index.ts'
import { outputWithin } from './quota.ts'

it('is the most that fits, or 1 where nothing does', () => {
  fc.assert(
    fc.property(
      fc.record({
        promptTokens: fc.integer({ min: 1, max: 200 }),
        n: fc.integer({ min: 1, max: 4 }),
        pageSize: fc.constantFrom(4, 16),
        pageBytes: fc.constantFrom(100, 1000),
      }),
      fc.integer({ min: 0, max: 60_000 }),
      (demand, kvBytes) => {
        const bytes = (maxOutput: number): number =>
          contractLayout({ ...demand, maxOutput }, demand.pageSize).totalPages * demand.pageBytes
        const most = outputWithin(kvBytes, demand)
        expect(most).toBeGreaterThanOrEqual(1)
        if (most > 1) expect(bytes(most)).toBeLessThanOrEqual(kvBytes)
        expect(bytes(most + 1) > kvBytes || bytes(most) > kvBytes).toBe(true)
      },
    ),
  )
})
