import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { PoolUse } from '../../cluster/index.ts'
import type { LedgerFault } from '../../kv/index.ts'
import type { FromWorker } from './ipc.ts'
import { createOutbox } from './outbox.ts'

const POOL: PoolUse = { total: 1, free: 1, owned: 0, draining: 0, quarantined: 0, cells: '.' }
const released = { kind: 'released', requestId: 'r', attempt: 1 } as const

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const start = () => {
  const sent: FromWorker[] = []
  const died: string[] = []
  const books: { fault: LedgerFault | null; audits: number } = { fault: null, audits: 0 }
  const outbox = createOutbox({
    role: 'decode',
    send: (message) => sent.push(message),
    machine: {
      poolUse: () => POOL,
      audit: () => {
        books.audits += 1
        return books.fault
      },
    },
    now: () => Date.now(),
    fatal: (error) => died.push(error.message),
  })
  return { outbox, sent, died, books }
}

test('what a turn said goes in one message, and an empty turn says nothing', () => {
  const { outbox, sent } = start()
  outbox.flush()
  outbox.send(released)
  outbox.send(released)
  outbox.telemetry({ kind: 'transfer_violation', reason: 'x' })
  outbox.flush()
  expect(sent).toMatchObject([{ kind: 'out', messages: [released, released], telemetry: [{ reason: 'x' }] }])
})

test('the pool is shown after turns, ten times a second at most, and audited once a second at most', () => {
  const { outbox, sent, books } = start()
  for (let at = 0; at < 200; at += 1) {
    outbox.flush()
    vi.advanceTimersByTime(10)
  }
  expect(sent.filter(({ kind }) => kind === 'pool').length).toBeLessThanOrEqual(21)
  expect(sent.filter(({ kind }) => kind === 'pool').length).toBeGreaterThan(15)
  expect(books.audits).toBeLessThanOrEqual(3)
  const before = sent.length
  vi.advanceTimersByTime(10_000)
  expect(sent.length).toBeLessThanOrEqual(before + 1)
})

test('books that do not add up are reported and end the worker', () => {
  const { outbox, sent, died, books } = start()
  books.fault = { code: 'conservation', message: '1 free of 2', details: {} } as LedgerFault
  outbox.flush()
  vi.advanceTimersByTime(100)
  expect(sent.at(-1)).toMatchObject({ kind: 'out', telemetry: [{ kind: 'integrity_fault', rule: 'R7' }] })
  expect(died).toEqual(['R7 conservation: 1 free of 2'])
})
