import { beforeAll, expect, test } from 'vitest'
import { createPools, largestPair } from '../kernels/index.ts'
import { inspectModel, type ModelShape, poolShape } from '../model/index.ts'
import { withDrillPages } from './drills/index.ts'
import { poolProblem } from './pool-limits.ts'

const PAGE = 16
let shape: ModelShape
beforeAll(async () => {
  const found = await inspectModel(new URL('../../models/tiny.gguf', import.meta.url).pathname)
  if (found.kind !== 'ok') throw new Error(found.message)
  shape = found.shape
})

const problem = (transport: 'socket' | 'shared', prefillPool: number, decodePool: number): string | null =>
  poolProblem({ shape, prefillPool, decodePool, pageSize: PAGE, transport })

test('pools are judged one by one, or together where they share a memory', () => {
  const pool = 600_000
  expect(problem('socket', pool, pool)).toBeNull()
  expect(problem('shared', pool, pool)).toMatch(/^prefill_pool 600000 and decode_pool 600000 do not fit the one memory/)
  expect(problem('shared', 1_000, pool)).toBeNull()
  expect(problem('socket', 1_000, 1_100_000)).toMatch(/^decode_pool 1100000 is above the \d+ tokens/)
})

test('what the line says does fit, and not a page more', () => {
  const each = Number(/two of (\d+) tokens do/.exec(problem('shared', 600_000, 600_000)!)![1])
  expect(problem('shared', each, each)).toBeNull()
  expect(problem('shared', each + PAGE, each + PAGE)).not.toBeNull()
  // The pools as workers make them.
  expect(withDrillPages(poolShape(shape, each, PAGE)).pages).toBe(largestPair(poolShape(shape, 0, PAGE)))
  const request = (tokens: number) => ({
    shape: withDrillPages(poolShape(shape, tokens, PAGE)),
    key: new BigUint64Array(2),
  })
  expect(() => createPools([request(each + PAGE), request(each + PAGE)])).toThrow(/together/)
  const socket = Number(/the (\d+) tokens/.exec(problem('socket', 1_100_000, 1)!)![1])
  expect([problem('socket', socket, 1), problem('socket', socket + PAGE, 1) === null]).toEqual([null, false])
})
