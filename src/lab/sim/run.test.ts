import { describe, expect, it } from 'vitest'
import type { Transport } from '../../cluster/index.ts'
import { type FenceRule, fencesWithout, partialFences } from '../partial-fences.ts'
import { type CheckerName, type FaultName, runSeed, runSeeds, unseen } from './index.ts'

const TRANSPORTS: readonly Transport[] = ['socket', 'shared']

describe('the cluster, simulated', () => {
  it('stands 2,000 seeds of faults with every checker watching, and sees everything there is to see', () => {
    const report = runSeeds({ from: 0, seeds: 2000 })
    expect(report.failures).toEqual([])
    expect(report.fewestEvents).toBeGreaterThanOrEqual(300)
    expect(unseen(report.coverage)).toEqual([])
  }, 300_000)

  it('has one digest for a range, in one run or in slices', () => {
    const whole = runSeeds({ from: 40, seeds: 6 })
    const first = runSeeds({ from: 40, seeds: 2 })
    expect(runSeeds({ from: 42, seeds: 4, after: first.digest }).digest).toBe(whole.digest)
  })

  it('runs at least 20 requests and 300 events a seed', () => {
    for (let seed = 1000; seed < 1010; seed++) {
      const { requests, events } = runSeed(seed)
      expect(requests).toBeGreaterThanOrEqual(20)
      expect(events).toBeGreaterThanOrEqual(300)
    }
  })

  it('replays a seed event by event, and no two seeds alike', () => {
    expect(runSeed(7).digest).toBe(runSeed(7).digest)
    expect(runSeed(7).digest).not.toBe(runSeed(8).digest)
    expect(runSeeds({ from: 3, seeds: 4 })).toEqual(runSeeds({ from: 3, seeds: 4 }))
  })
})

describe('a calm cluster', () => {
  it('serves everybody: without harmful faults nothing fails but for pressure', () => {
    const faults: FaultName[] = ['disconnect', 'stopString', 'heldBack', 'slowCopy', 'duplicateFrame', 'tornStore']
    for (const transport of TRANSPORTS)
      expect(runSeeds({ from: 500, seeds: 30 }, { faults, transport }).failures).toEqual([])
  })
})

describe('each fence is needed', () => {
  /** How many seeds fail without a rule where this checker alone watches. */
  const seen = (rule: FenceRule, transport: Transport, checker: CheckerName): number =>
    runSeeds({ from: 0, seeds: 40 }, { fences: fencesWithout(rule), transport, checkers: [checker] }).failures.length

  const expectations: readonly [FenceRule, CheckerName][] = [
    ['R3', 'bound_prompts'],
    ['R5', 'own_reads'],
    ['R6', 'fenced_reuse'],
    ['R6', 'no_refusals'],
    ['R8', 'non_interference'],
    ['R9', 'own_reads'],
    ['R10', 'non_interference'],
    ['R11', 'published_after_commit'],
  ]
  for (const transport of TRANSPORTS)
    for (const [rule, checker] of expectations) {
      it(`without ${rule} over ${transport} some seed fails, and ${checker} sees it`, () => {
        expect(seen(rule, transport, checker)).toBeGreaterThan(0)
      })
    }

  for (const transport of TRANSPORTS)
    it(`without R6 over ${transport} answers change, not only bookkeeping`, () => {
      const checkers: CheckerName[] = ['own_reads', 'non_interference']
      const { failures } = runSeeds(
        { from: 0, seeds: 60 },
        { fences: fencesWithout('R5', 'R6'), faults: ['disconnect', 'slowCopy'], checkers, transport },
      )
      expect(failures.length).toBeGreaterThan(0)
    })

  it('without R6 a store of the past lands in a page that was given away', () => {
    const { failures } = runSeeds(
      { from: 0, seeds: 60 },
      { fences: fencesWithout('R6'), checkers: ['own_stores'], transport: 'shared' },
    )
    expect(failures.length).toBeGreaterThan(0)
  })
})

describe('rejected but alive: prefill gets one token where a prompt belongs', () => {
  const faults: FaultName[] = ['placeholder']
  const checkers: CheckerName[] = ['own_reads', 'non_interference', 'pages_home', 'endings']
  const underneath: FenceRule[] = ['R6', 'R7', 'R9', 'R10', 'R11']
  const leaks = (...rules: FenceRule[]): number =>
    runSeeds({ from: 0, seeds: 40 }, { fences: partialFences([...underneath, ...rules]), faults, checkers }).failures
      .length

  it('reads what others left where nothing looks', () => {
    expect(leaks()).toBeGreaterThan(0)
  })

  for (const rule of ['R3', 'R4', 'R5', 'R8'] as const) {
    it(`is stopped by ${rule} alone`, () => {
      expect(leaks(rule)).toBe(0)
    })
  }
})
