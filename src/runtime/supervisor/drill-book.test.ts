import { beforeEach, expect, test } from 'vitest'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { type Detector, type DrillFinding, detectorsOf } from '../drills/index.ts'
import { DrillBook } from './drill-book.ts'

const EVERY = 1_000
let now: number
let told: string[]
let book: DrillBook

const telemetry = (event: TelemetryEvent): void => {
  if (event.kind === 'detector') told.push(`${event.role} ${event.detector} ${event.state}`)
}
const findings = (failing: Detector | null = null): DrillFinding[] =>
  detectorsOf({ integrity: 'full', transport: 'socket' }).map((detector) => ({
    detector,
    armed: detector !== failing,
    detail: detector === failing ? 'saw nothing' : null,
  }))
const stateOf = (role: string, detector: string): string | undefined =>
  book.states().find((one) => one.role === role && one.detector === detector)?.state

beforeEach(() => {
  now = 0
  told = []
  book = new DrillBook({
    model: 'm',
    integrity: 'full',
    transport: 'socket',
    everyMs: EVERY,
    now: () => now,
    telemetry,
  })
})

test('what was never drilled is unknown, and unknown is an objection', () => {
  expect(stateOf('decode', 'seal')).toBe('unknown')
  book.drilled('prefill', findings())
  expect(book.objection()).toBe('decode detector ticket (R3) was not drilled yet')
  expect(book.failed).toBe(false)
  book.drilled('decode', findings())
  expect(book.objection()).toBeNull()
})

test('a detector left out of a drill stays unknown', () => {
  book.drilled('prefill', findings())
  book.drilled(
    'decode',
    findings().filter(({ detector }) => detector !== 'guard_row'),
  )
  expect(book.objection()).toBe('decode detector guard_row (R5) was not drilled yet')
})

test('a failed drill is named, until the detector fires again', () => {
  book.drilled('prefill', findings())
  book.drilled('decode', findings('seal'))
  expect([book.failed, book.objection()]).toEqual([true, 'decode detector seal (R8) failed its drill: saw nothing'])
  book.drilled('decode', findings())
  expect([book.failed, book.objection()]).toEqual([false, null])
})

test('a drill older than twice the schedule is stale, which is seen and told once', () => {
  book.drilled('prefill', findings())
  now = 2 * EVERY
  book.drilled('decode', findings())
  expect(stateOf('prefill', 'seal')).toBe('armed')
  told = []
  now += 1
  expect([stateOf('prefill', 'seal'), stateOf('decode', 'seal')]).toEqual(['stale', 'armed'])
  book.review()
  expect(told).toEqual(
    detectorsOf({ integrity: 'full', transport: 'socket' }).map((detector) => `prefill ${detector} stale`),
  )
  expect(book.objection()).toBeNull()
  book.drilled('prefill', findings())
  expect(stateOf('prefill', 'seal')).toBe('armed')
})

test("a worker's end makes its detectors unknown", () => {
  book.drilled('prefill', findings())
  book.drilled('decode', findings('seal'))
  book.forget('decode')
  expect([stateOf('decode', 'seal'), stateOf('prefill', 'seal'), book.failed]).toEqual(['unknown', 'armed', false])
})

test('only changes are told', () => {
  book.drilled('decode', findings())
  told = []
  book.drilled('decode', findings())
  expect(told).toEqual([])
  book.drilled('decode', findings('seal'))
  expect(told).toEqual(['decode seal failed'])
})

test('the age of a drill is told in seconds', () => {
  book.drilled('decode', findings())
  now = 1_500
  expect(book.states().find(({ role }) => role === 'decode')?.ageSeconds).toBe(1.5)
  expect(book.states().find(({ role }) => role === 'prefill')?.ageSeconds).toBeNull()
})
