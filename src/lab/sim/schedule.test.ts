import { describe, expect, it } from 'vitest'
import type { FenceRule } from '../partial-fences.ts'
import { listedOracle, seededOracle } from './oracle.ts'
import { readSchedule, replay, type Schedule, scheduleOf, shrink } from './schedule.ts'

const firstFailing = (without: readonly FenceRule[]): Schedule => {
  for (let seed = 0; ; seed++) {
    const schedule = scheduleOf(seed, { without })
    if (schedule !== null) return schedule
  }
}

describe('a schedule', () => {
  it('is what a failing seed decided, and replays to the same failure', () => {
    const schedule = firstFailing(['R6'])
    expect(replay(schedule, 'exact')).toMatchObject({
      events: schedule.events,
      failure: { checker: schedule.checker, message: schedule.message },
    })
  })

  it('fails at the first divergence: another choice, another number of them, or none left', () => {
    const schedule = firstFailing(['R6'])
    const messageOf = (choices: Schedule['choices']): string | undefined => {
      const { failure } = replay({ ...schedule, choices }, 'exact')
      expect(failure?.checker).toBe('replay')
      return failure?.message
    }
    const [first, second, ...rest] = schedule.choices
    expect(messageOf([first!, ['another', 2, 0], ...rest])).toMatch(/^choice 1: .*"another" of 2/)
    expect(messageOf([first!, [second![0], second![1] + 1, 0], ...rest])).toMatch(/^choice 1: /)
    expect(messageOf(schedule.choices.slice(0, -1))).toMatch(/at its end$/)
  })

  it('says so when it replays without its failure', () => {
    expect(replay(firstFailing(['R6']), 'by label', []).failure).toBe(null)
    expect(scheduleOf(0)).toBe(null)
  })

  it('is read back from its own text, and from no other', () => {
    const schedule = firstFailing(['R3'])
    expect(readSchedule(JSON.stringify(schedule))).toEqual(schedule)
    for (const text of ['', 'null', '[]', '{}', JSON.stringify({ ...schedule, choices: [['x', 1]] })])
      expect(readSchedule(text)).toBe(null)
    expect(readSchedule(JSON.stringify({ ...schedule, without: ['R99'] }))).toBe(null)
  })
})

describe('shrinking', () => {
  it('keeps the failure, makes the run shorter, and what comes out replays exactly', () => {
    for (const rule of ['R3', 'R5'] as const) {
      const found = firstFailing([rule])
      const short = shrink(found, 200)
      expect(short.checker).toBe(found.checker)
      expect(short.events).toBeLessThan(found.events)
      expect(short.choices.length).toBeLessThan(found.choices.length)
      expect(replay(short, 'exact').failure).toMatchObject({ checker: short.checker, message: short.message })
    }
  }, 60_000)
})

describe('listedOracle', () => {
  it('asks nothing for a chance of zero, as every oracle', () => {
    const oracle = listedOracle([['a', 2, 1]])
    expect(oracle.chance('b', 0)).toBe(false)
    expect(oracle.chance('a', 0.1)).toBe(true)
    expect(seededOracle(1).chance('a', 1)).toBe(true)
  })
})
