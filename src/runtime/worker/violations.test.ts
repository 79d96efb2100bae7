import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createViolations } from './violations.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('violations', () => {
  it('are told at once, each reason by itself', () => {
    const told: unknown[] = []
    const violation = createViolations((...what) => told.push(what))
    violation('bad_proof')
    violation('tls_refused')
    expect(told).toEqual([
      ['bad_proof', 1],
      ['tls_refused', 1],
    ])
  })

  it('are told once a second while they go on, and none is lost', () => {
    const told: [string, number][] = []
    const violation = createViolations((...what) => told.push(what))
    for (let tick = 0; tick < 2_500; tick++) {
      violation('bad_proof')
      vi.advanceTimersByTime(1)
    }
    vi.advanceTimersByTime(5_000)
    expect(told).toHaveLength(4)
    expect(told.reduce((sum, [, count]) => sum + count, 0)).toBe(2_500)
    expect(vi.getTimerCount()).toBe(0)
  })
})
