import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { playScenario, type Scenario } from './scenario.ts'
import { readSchedule, replay } from './schedule.ts'

const folder = join(import.meta.dirname, 'regressions')
const formal = join(import.meta.dirname, '../../../formal')
const read = (file: string): string => readFileSync(join(folder, file), 'utf8')
const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
const scenarios = files.filter((file) => file.startsWith('spin-'))
const schedules = files.filter((file) => !file.startsWith('spin-'))

describe('trails of the protocol model, against the real decode machine', () => {
  for (const file of scenarios) {
    const scenario = JSON.parse(read(file)) as Scenario
    it(`${scenario.name}: does harm without ${scenario.without.join(', ')}, and none with every fence`, () => {
      expect(playScenario(scenario)).toEqual(expect.any(String))
      expect(playScenario(scenario, [])).toBe(null)
    })

    it(`${scenario.name}: each of what is missing would have stopped it`, () => {
      for (const back of scenario.without)
        expect([
          back,
          playScenario(
            scenario,
            scenario.without.filter((one) => one !== back),
          ),
        ]).toEqual([back, null])
    })

    it(`${scenario.name}: is the trail that the model made`, () => {
      expect(scenario.steps).toEqual(JSON.parse(readFileSync(join(formal, scenario.trail), 'utf8')))
    })
  }

  it('are all here', () => {
    const trails = readdirSync(formal).filter((file) => file.startsWith('counterexample'))
    const here = scenarios.map((file) => (JSON.parse(read(file)) as Scenario).trail)
    expect(here.sort()).toEqual(trails.sort())
  })
})

describe('schedules of seeds that failed', () => {
  for (const file of schedules) {
    it(`${file}: fails without its rules, and passes with every fence`, () => {
      const schedule = readSchedule(read(file))!
      // By label, since the list is older than whatever the simulator has learned to decide.
      expect(replay(schedule, 'by label').failure?.checker).toBe(schedule.checker)
      expect(replay(schedule, 'by label', []).failure).toBe(null)
    })
  }

  it('are here for every rule that a seed can do without', () => {
    expect(schedules.length).toBeGreaterThanOrEqual(5)
  })
})
