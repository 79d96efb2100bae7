import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { judge } from '../../admission/index.ts'
import { contractLayout } from '../../kv/index.ts'

describe('pages of a contract', () => {
  it('are counted by admission as decode lays them out, so that what the router takes off its mirror is what decode reserves', () => {
    const size = fc.integer({ min: 1, max: 300 })
    fc.assert(
      fc.property(
        size,
        size,
        fc.integer({ min: 1, max: 8 }),
        fc.constantFrom(1, 3, 16),
        (promptTokens, maxOutput, n, pageSize) => {
          const limits = { advertisedWindow: 1e6, prefillPool: 1e6, decodePool: 1e6, pageSize }
          const verdict = judge(limits, { promptTokens, promptTokensIs: 'exact', maxOutput, n })
          if (verdict.kind === 'refused') throw new Error('a generous pool refuses')
          const layout = contractLayout({ promptTokens, maxOutput, n }, pageSize)
          expect(verdict.contract.decodePages).toBe(layout.totalPages)
          expect(verdict.contract.prefillPages).toBe(layout.promptPages)
        },
      ),
    )
  })
})
