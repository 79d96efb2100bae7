import { afterEach, expect, test } from 'vitest'
import type { StoppableOffload } from '../../src/host/node/index.ts'
import { host } from './harness.ts'

const open: StoppableOffload[] = []
afterEach(async () => {
  for (const offload of open.splice(0)) await offload.stop()
})

const start = (options: { timeoutMs?: number; heapMb?: number } = {}): StoppableOffload => {
  const offload = host.createOffload({ module: new URL('./offload-tasks.js', import.meta.url), ...options })
  open.push(offload)
  return offload
}

test('a task runs on another thread and leaves this one free', async () => {
  const offload = start()
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 5)
  const spun = offload.call('spin', 200)
  expect(await spun).toBe('spun')
  clearInterval(timer)
  expect(turns).toBeGreaterThan(10)
})

test('bytes can be moved instead of copied', async () => {
  const bytes = new Uint8Array(2 ** 20).fill(1)
  expect(await start().call('sum', bytes, [bytes.buffer])).toBe(2 ** 20)
  expect(bytes.byteLength).toBe(0)
})

test('a task that throws rejects its call alone', async () => {
  const offload = start()
  const failing = offload.call('fail', null)
  const working = offload.call('sum', Uint8Array.of(1, 2))
  await expect(failing).rejects.toMatchObject({ code: 'offload_failed', details: { code: 'too_deep' } })
  expect(await working).toBe(3)
})

test('an unknown task, or one by the name of an inherited property, is refused', async () => {
  const offload = start()
  for (const name of ['nothing', 'toString', '__proto__']) {
    await expect(offload.call(name, null)).rejects.toMatchObject({ code: 'offload_failed' })
  }
})

test('a task that never ends is ended with its thread, and the next call has a new one', async () => {
  const offload = start({ timeoutMs: 150 })
  const endless = offload.call('spin', 60_000)
  const next = offload.call('sum', Uint8Array.of(5))
  await expect(endless).rejects.toMatchObject({ code: 'offload_timeout' })
  expect(await next).toBe(5)
})

test('running out of memory ends the thread and not the process', async () => {
  const offload = start({ heapMb: 32 })
  await expect(offload.call('hoard', null)).rejects.toMatchObject({ code: 'offload_failed' })
  expect(await offload.call('sum', Uint8Array.of(4))).toBe(4)
})

test('a waiting call can be cancelled', async () => {
  const offload = start()
  const first = offload.call('spin', 50)
  const leave = new AbortController()
  const second = offload.call('sum', Uint8Array.of(1), [], leave.signal)
  leave.abort()
  await expect(second).rejects.toMatchObject({ code: 'offload_stopped' })
  expect(await first).toBe('spun')
})

test('stop rejects what runs and what waits', async () => {
  const offload = start()
  const calls = [offload.call('spin', 5_000), offload.call('spin', 5_000)]
  const settled = Promise.allSettled(calls)
  await offload.stop()
  expect((await settled).map((one) => one.status)).toEqual(['rejected', 'rejected'])
})
