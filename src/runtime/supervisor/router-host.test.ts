import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Router, RouterEvent } from '../../cluster/index.ts'
import { createRouterHost } from './router-host.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A router that always wants to be asked again at `at`. */
const hosted = (at: number) => {
  const ticks: number[] = []
  const router: Router = {
    step: (event: RouterEvent) => {
      ticks.push(event.now)
      return [{ kind: 'set_timer', at }]
    },
    load: () => ({ waiting: 0, running: 0 }),
  }
  const host = createRouterHost({
    router,
    clock: { now: () => Date.now(), wall: () => Date.now() },
    telemetry: () => undefined,
    toDecode: () => undefined,
    toPrefill: () => undefined,
  })
  return { ticks, host }
}

test('a timer goes off when it is due, rounded up', () => {
  const start = Date.now()
  const { ticks, host } = hosted(start + 100.5)
  host.dispatch({ kind: 'tick' })
  vi.advanceTimersByTime(100)
  expect(ticks).toEqual([start])
  vi.advanceTimersByTime(1)
  expect(ticks.slice(0, 2)).toEqual([start, start + 101])
  host.close()
})

test('a timer that is further away than Node.js can count does not go off at once, again and again', () => {
  const { ticks, host } = hosted(Date.now() + 2 ** 40)
  host.dispatch({ kind: 'tick' })
  vi.advanceTimersByTime(10_000)
  expect(ticks).toHaveLength(1)
  host.close()
})

test('every request that is left when the host closes is told so, once', async () => {
  const { host } = hosted(Date.now() + 1_000)
  const heard: string[] = []
  const request = { requestId: 'r' } as Parameters<typeof host.submit>[0]
  host.submit(request, (event) => heard.push(event.kind))
  host.close()
  host.close()
  host.submit(request, (event) => heard.push(`late ${event.kind}`))
  await Promise.resolve()
  expect(heard).toEqual(['failed', 'late failed'])
})
