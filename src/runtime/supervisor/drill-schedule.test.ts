import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDrillSchedule } from './drill-schedule.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('each role once an interval, half of one apart, from the offset on', () => {
  const start = Date.now()
  const turns: string[] = []
  const schedule = createDrillSchedule({ everyMs: 1_000, offset: 0.5 }, (role) =>
    turns.push(`${role} ${Date.now() - start}`),
  )
  vi.advanceTimersByTime(2_300)
  expect(turns).toEqual(['decode 750', 'prefill 1250', 'decode 1750', 'prefill 2250'])
  schedule.stop()
  vi.advanceTimersByTime(5_000)
  expect(turns).toHaveLength(4)
})
