import { expect, it } from 'vitest'
import { bulkhead } from './bulkhead.ts'

/** Every run draws new codes: what is seen cannot have been written down before. */
const RUNS = 3

it('shows the leak on the unguarded engine, the refusal on Bulkhead, and each single rule stopping it', async () => {
  const codes = new Set<string>()
  for (let run = 0; run < RUNS; run++) {
    const { code, stdout } = await bulkhead(['lab', 'leak', '--json'])
    const report = JSON.parse(stdout)
    expect(report.unguarded).toMatchObject({ status: 200, harmed: true, pagesReserved: 8, pagesArrived: 1 })
    expect(report.unguarded.text).toContain(report.cast.a.code)
    expect(report.unguarded.text).not.toContain(report.cast.b.code)
    expect(report.bulkhead).toMatchObject({ status: 400, harmed: false, bound: 'prefill_pool', pagesReserved: 0 })
    expect(report.single.map((act: { rule: string }) => act.rule)).toEqual(['R4', 'R5', 'R8'])
    for (const act of report.single) {
      expect(act).toMatchObject({ harmed: false, code: 'kv_integrity', caught: { rule: act.rule } })
      expect(act.caught.page).toBeGreaterThanOrEqual(0)
    }
    expect(report.seconds).toBeLessThan(20 * 5)
    expect(code).toBe(0)
    codes.add(report.cast.a.code)
  }
  expect(codes.size).toBe(RUNS)
})

it('tells the story in the terminal, in colour where asked', async () => {
  const { stdout } = await bulkhead(['lab', 'leak'], { env: { FORCE_COLOR: '1' } })
  expect(stdout).toContain('\u001b[31mHTTP 200')
  expect(stdout).toContain('\u001b[32mHTTP 400')
  expect(stdout).toContain('bound: prefill_pool')
  const plain = await bulkhead(['lab', 'leak'], { env: { NO_COLOR: '1' } })
  expect(plain.stdout).not.toContain('\u001b')
})
