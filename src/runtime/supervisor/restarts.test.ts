import { expect, test } from 'vitest'
import { createRestartPolicy } from './restarts.ts'

test('a worker that served comes back at once, and soon however often it is killed', () => {
  const policy = createRestartPolicy()
  const delays = Array.from({ length: 30 }, () => policy.next({ wasReady: true, livedMs: 500 }))
  expect(Math.max(...delays.slice(0, 10))).toBe(0)
  expect(Math.max(...delays)).toBe(500)
})

test('a worker that never comes up is tried ever less often', () => {
  const policy = createRestartPolicy()
  const delays = Array.from({ length: 12 }, () => policy.next({ wasReady: false, livedMs: 50 }))
  expect(delays).toEqual([0, 0, 0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000])
})

test('a long life forgives what was before', () => {
  const policy = createRestartPolicy()
  for (let at = 0; at < 9; at += 1) policy.next({ wasReady: false, livedMs: 50 })
  expect(policy.next({ wasReady: true, livedMs: 60_000 })).toBe(0)
})
