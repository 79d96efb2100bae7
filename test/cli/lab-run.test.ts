import { expect, it } from 'vitest'
import { bulkhead } from './bulkhead.ts'

it('lists the catalogue', async () => {
  const { code, stdout } = await bulkhead(['lab', 'list', '--json'])
  expect(code).toBe(0)
  const entries = JSON.parse(stdout) as { fault: string; class: string; harm: string; rules: string[] }[]
  expect(entries.length).toBeGreaterThanOrEqual(24)
  for (const entry of entries) {
    expect(entry.class).toMatch(/^[A-K]\d?$/)
    expect(['leak', 'wrong_status', 'truncation', 'stranded', 'timing']).toContain(entry.harm)
    expect(entry.rules.length).toBeGreaterThan(0)
  }
  const plain = await bulkhead(['lab', 'list'])
  for (const { fault } of entries) expect(plain.stdout).toContain(fault)
})

it('plays a fault unguarded, guarded and with each rule alone, with new codes each time', async () => {
  const run = async () => {
    const { code, stdout } = await bulkhead(['lab', 'run', 'partial-fill-reported-complete', '--json'])
    expect(code).toBe(0)
    return JSON.parse(stdout)
  }
  const [report] = await run()
  expect(report).toMatchObject({
    fault: 'partial-fill-reported-complete',
    class: 'D',
    harm: 'leak',
    rules: ['R4', 'R5', 'R8'],
    baseline: { harmed: true },
    guarded: { harmed: false, caught_by: 'R4' },
    each: { R4: { harmed: false }, R5: { harmed: false }, R8: { harmed: false } },
  })
  const [again] = await run()
  expect(again.baseline.sample).not.toBe(report.baseline.sample)
})

it('plays it with one set of guards alone', async () => {
  const run = async (set: string) => {
    const { code, stdout } = await bulkhead(['lab', 'run', 'double-free', '--guards', set, '--json'])
    return { code, report: JSON.parse(stdout)[0] }
  }
  expect(await run('none')).toMatchObject({ code: 0, report: { harmed: true, guards: 'none' } })
  expect(await run('R7')).toMatchObject({ code: 0, report: { harmed: false, caught_by: 'R7' } })
  // not meant to catch it: harm, and no claim broken
  expect(await run('R3 R4')).toMatchObject({ code: 0, report: { harmed: true, guards: ['R3', 'R4'] } })
})

it.each([
  [['lab', 'run']],
  [['lab', 'run', 'no-such-fault']],
  [['lab', 'run', 'double-free', '--all']],
  [['lab', 'run', 'double-free', '--guards', 'R99']],
  [['lab', 'list', 'operand']],
])('answers a wrong call with exit 2 and one line: %j', async (words) => {
  const { code, stdout, stderr } = await bulkhead(words)
  expect(code).toBe(2)
  expect(stdout).toBe('')
  expect(stderr.trim().split('\n')).toHaveLength(1)
})
