import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Workshop } from './bench.ts'
import { faultClasses } from './fault.ts'
import { faults } from './registry.ts'
import { isAsClaimed, runFault, runWith, setIsAsClaimed } from './run.ts'
import { recallWorkshop } from './testing/recall.ts'

let workshop: Workshop

beforeAll(async () => {
  workshop = await recallWorkshop()
})
afterAll(() => workshop.close())

describe.each(faults.map((fault) => [fault.name, fault] as const))('%s', (name, fault) => {
  it('does harm unguarded, none with every guard, and none with each of its rules alone', async () => {
    const report = await runFault(fault, workshop)
    expect(report).toMatchObject({ fault: name, baseline: { harmed: true }, guarded: { harmed: false } })
    expect(Object.keys(report.each).sort()).toEqual([...fault.rules].sort())
    expect(Object.values(report.each).filter(({ harmed }) => harmed)).toEqual([])
    expect(report.guarded.caught_by).toMatch(/^R\d+$/)
    expect(report.baseline.sample).not.toBe('')
    expect(isAsClaimed(report)).toBe(true)
  })
})

describe('the catalogue', () => {
  it('has faults of every class that concerns an engine or its cache, most of them leaks', () => {
    expect(faults.length).toBeGreaterThanOrEqual(24)
    expect(faults.filter(({ harm }) => harm === 'leak').length).toBeGreaterThanOrEqual(16)
    expect(faultClasses.filter((one) => faults.every((fault) => fault.class !== one))).toEqual([])
  })

  it('has two rules for two faults in three, and names each fault once', () => {
    expect(faults.filter(({ rules }) => rules.length > 1).length * 3).toBeGreaterThanOrEqual(faults.length * 2)
    expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length)
    for (const { name, reports } of faults) {
      expect(name).toMatch(/^[a-z]+(-[a-z0-9]+)+$/)
      expect(reports.every((report) => /^F\d{3}$/.test(report))).toBe(true)
    }
  })
})

describe('a run with one set of guards', () => {
  const fault = faults.find(({ name }) => name === 'partial-fill-reported-complete')!

  it('shows the stranger\u2019s code where nothing guards', async () => {
    const report = await runWith(fault, workshop, [])
    const [, ofA, ofB, answer] = /A stored (\w+); B stored (\w+) and was answered "(\w+)/.exec(report.sample) ?? []
    expect(answer).toBe(ofA)
    expect(answer).not.toBe(ofB)
    expect(report).toMatchObject({ guards: 'none', harmed: true, caught_by: null, baseline: { harmed: true } })
    expect(report).not.toHaveProperty('guarded')
  })

  it('says which rule of the set caught it', async () => {
    const report = await runWith(fault, workshop, ['R8'])
    expect(report).toMatchObject({ guards: ['R8'], harmed: false, caught_by: 'R8', each: { R8: { harmed: false } } })
    expect(setIsAsClaimed(report)).toBe(true)
  })

  it('claims nothing of rules that are not meant to catch it', async () => {
    const report = await runWith(fault, workshop, ['R3'])
    expect(report.harmed).toBe(true)
    expect(setIsAsClaimed(report)).toBe(true)
  })
})
