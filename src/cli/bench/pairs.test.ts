import { expect, it } from 'vitest'
import { measurePairs, overheadOf } from './pairs.ts'

it('finds a difference of one per cent under noise of ten, and the interval holds it', async () => {
  let state = 7
  const noise = (): number => {
    state = (state * 48_271) % 2_147_483_647
    return 0.9 + (0.2 * state) / 2_147_483_647
  }
  const { pairs, median, low, high, baseMs } = await measurePairs(
    async () => 10.1 * noise(),
    async () => 10 * noise(),
    { pairs: 4_000, precise: 100 },
  )
  expect(pairs).toBe(4_000)
  expect(low).toBeLessThan(1)
  expect(high).toBeGreaterThan(1)
  expect(high - low).toBeLessThan(1.5)
  expect([median > low, median < high, Math.round(baseMs)]).toEqual([true, true, 10])
})

it('goes on while the interval is wide, up to five times the pairs', async () => {
  let turn = 0
  const arm = async (): Promise<number> => 10 + (turn++ % 7)
  expect((await measurePairs(arm, arm, { pairs: 200, precise: 0 })).pairs).toBe(1_000)
  expect(
    (
      await measurePairs(
        async () => 1,
        async () => 1,
        { pairs: 200 },
      )
    ).pairs,
  ).toBe(200)
})

it('each arm goes first as often, and never in a period', async () => {
  const order: string[] = []
  const named = (name: string) => async (): Promise<number> => {
    order.push(name)
    return 1
  }
  await measurePairs(named('on'), named('off'), { pairs: 64 })
  const firsts = order.slice(40).filter((_, i) => i % 2 === 0)
  expect(firsts.filter((name) => name === 'on')).toHaveLength(32)
  expect(firsts.slice(0, 8)).toEqual(['off', 'on', 'on', 'off', 'on', 'off', 'off', 'on'])
})

it('a median without noise has no interval', () => {
  expect(overheadOf([2, 2, 2, 2, 2], [4, 4, 4, 4, 4])).toEqual({ pairs: 5, median: 2, low: 2, high: 2, baseMs: 4 })
})
