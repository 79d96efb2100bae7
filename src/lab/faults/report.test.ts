import { describe, expect, it } from 'vitest'
import { fullFences } from '../../cluster/index.ts'
import { castTenants, promptTokens } from './cast.ts'
import { renderFault, renderReport, renderSummary } from './render.ts'
import { guards, parseGuards } from './rules.ts'
import { type FaultReport, isAsClaimed, type SetReport, setIsAsClaimed } from './run.ts'
import { firstRows } from './seams.ts'

const report: FaultReport = {
  fault: 'some-fault',
  class: 'D',
  harm: 'leak',
  rules: ['R4', 'R8'],
  baseline: { harmed: true, sample: 'A stored X; B stored Y and was answered "X"' },
  guarded: { harmed: false, outcome: 'HTTP 500 kv_integrity', caught_by: 'R4' },
  each: {
    R4: { harmed: false, outcome: 'HTTP 500 kv_integrity' },
    R8: { harmed: false, outcome: 'HTTP 500 kv_integrity' },
  },
}

describe('a report', () => {
  it('is as claimed only with harm unguarded, none guarded and none with each rule', () => {
    expect(isAsClaimed(report)).toBe(true)
    expect(isAsClaimed({ ...report, baseline: { ...report.baseline, harmed: false } })).toBe(false)
    expect(isAsClaimed({ ...report, guarded: { ...report.guarded, harmed: true } })).toBe(false)
    expect(isAsClaimed({ ...report, each: { ...report.each, R8: { harmed: true, outcome: '' } } })).toBe(false)
  })

  it('of one set holds it to what it claims', () => {
    const set: SetReport = { ...report, guards: 'none', harmed: true, outcome: '', caught_by: null, sample: '' }
    expect(setIsAsClaimed(set)).toBe(true)
    expect(setIsAsClaimed({ ...set, harmed: false })).toBe(false)
    expect(setIsAsClaimed({ ...set, guards: 'all' })).toBe(false)
    expect(setIsAsClaimed({ ...set, guards: ['R8'] })).toBe(false)
    expect(setIsAsClaimed({ ...set, guards: ['R6'] })).toBe(true)
  })

  it('reads as a line, and in full', () => {
    expect(renderReport(report)).toMatch(/^some-fault +D +leak +HTTP 500 kv_integrity \(R4\) +R4 R8\n$/)
    expect(renderFault(report)).toContain('B stored Y and was answered "X"')
    const failing = { ...report, each: { ...report.each, R8: { harmed: true, outcome: 'HTTP 200' } } }
    expect(renderReport(failing)).toContain('R8 FAILS')
    expect(renderFault(failing)).toContain('R8 alone    DOES NOT HOLD: HTTP 200')
    expect(renderSummary([report, failing], 2)).toContain('1 are stopped by two rules or more')
    expect(renderSummary([report, failing], 2)).toContain('Not as claimed')
    expect(renderSummary([report], 2)).not.toContain('Not as claimed')
  })
})

describe('guards', () => {
  it('are read with commas or spaces, and nothing else is', () => {
    expect(parseGuards('R4,R8')).toEqual(['R4', 'R8'])
    expect(parseGuards(' R10 R4 ')).toEqual(['R4', 'R10'])
    expect(parseGuards('none')).toEqual([])
    expect(parseGuards('all')).toBe('all')
    for (const wrong of ['', 'R99', 'r4', 'all,R4', 'none R4']) expect(parseGuards(wrong), wrong).toBeNull()
  })

  it('are the full fences or just the rules named, with the bookkeeping that the fault does not concern', () => {
    const full = fullFences()
    expect(guards('all').fences([]).pages).toEqual(full.pages)
    const alone = guards(['R5']).fences(['R6'])
    expect(alone.kernel).toEqual(full.kernel)
    expect(alone.pages.fencedFree).toBe(full.pages.fencedFree)
    expect(alone.pages.conserved).not.toBe(full.pages.conserved)
    expect(guards(['R2']).has('R2')).toBe(true)
    expect(guards(['R2']).has('R1')).toBe(false)
  })
})

describe('the cast', () => {
  it('draws new codes, says A\u2019s in every entry and B\u2019s in one', () => {
    let drawn = 0
    const { a, b } = castTenants((n) => drawn++ % n, { entries: 5, at: 2 })
    expect(a.code).not.toBe(b.code)
    expect(a.prompt.split(`K7=${a.code} ;`)).toHaveLength(6)
    expect(b.prompt.split(' code ').map((entry) => entry.includes(b.code))).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
    ])
    expect(promptTokens(8)).toBe(91)
  })
})

describe('the first rows of a page', () => {
  it('are those of each head', () => {
    const width = 256
    const page = Uint8Array.from({ length: 3 * 4 * width }, (_, i) => Math.floor(i / width))
    const cut = firstRows(page, 4, 2)
    expect(Array.from({ length: 6 }, (_, i) => cut[i * width])).toEqual([0, 1, 4, 5, 8, 9])
  })
})
