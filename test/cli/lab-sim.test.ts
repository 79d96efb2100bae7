import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { bulkhead } from './bulkhead.ts'

const folder = mkdtempSync(join(tmpdir(), 'bulkhead-sim-'))
afterAll(() => rmSync(folder, { recursive: true }))

const failing = ['lab', 'sim', '--without', 'R6', '--seeds', '3']

describe('lab sim', () => {
  it('prints what a run saw, and one command for each failure', async () => {
    const { code, stdout } = await bulkhead(failing)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^coverage, transitions: free → reserved \d+, /m)
    expect(stdout).toMatch(/^ {2}seed \d+ \w+: .*: bulkhead lab sim --seed \d+ --without R6$/m)
  })

  it('shrinks a failing seed to a schedule that replays', async () => {
    const { stdout } = await bulkhead([...failing, '--shrink', '--json'])
    const { failures, schedule } = JSON.parse(stdout)
    expect(schedule).toMatchObject({ seed: failures[0].seed, checker: failures[0].checker, without: ['R6'] })
    const file = join(folder, 'schedule.json')
    writeFileSync(file, JSON.stringify(schedule))
    const again = await bulkhead(['lab', 'sim', '--replay', file])
    expect(again).toMatchObject({ code: 1, stdout: `seed ${schedule.seed} ${schedule.checker}: ${schedule.message}\n` })
    writeFileSync(file, JSON.stringify({ ...schedule, choices: schedule.choices.slice(1) }))
    expect((await bulkhead(['lab', 'sim', '--replay', file])).code).toBe(3)
  })

  it('goes on from an earlier digest', async () => {
    const run = async (...words: string[]) => JSON.parse((await bulkhead(['lab', 'sim', '--json', ...words])).stdout)
    const whole = await run('--seeds', '4')
    const first = await run('--seeds', '2')
    expect((await run('--from', '2', '--seeds', '2', '--after', first.digest)).digest).toBe(whole.digest)
  })

  it.each([
    ['--after', 'nonsense'],
    ['--without', 'R99'],
    ['--replay', 'nowhere.json'],
  ])('refuses %s %s', async (...words) => {
    const { code, stderr } = await bulkhead(['lab', 'sim', ...words])
    expect(code).toBe(2)
    expect(stderr).not.toContain('    at ')
  })
})
