import { afterEach, expect, test } from 'vitest'
import type { DetectorState } from '../../src/cluster/index.ts'
import { ask, promptOf, type Running, start, until } from './harness.ts'

const workerModule = new URL('./drill-worker.js', import.meta.url)
const OBJECTION = 'decode detector guard_row (R5) failed its drill: saw silent'
let running: Running | null = null
afterEach(async () => {
  await running?.engine.stop(0)
  running = null
})

const detectors = (): readonly DetectorState[] => running!.engine.models()[0]!.detectors!
const statesOf = (role: string): string[] => [
  ...new Set(detectors().flatMap((one) => (one.role === role ? [one.state] : []))),
]

test('a model is ready once every detector of both workers has fired, and drills again on its schedule', async () => {
  running = await start({}, { drillEveryMs: 600 })
  const { engine, telemetry } = running
  expect(engine.models()[0]).toMatchObject({ ready: true, reason: null })
  expect([statesOf('prefill'), statesOf('decode')]).toEqual([['armed'], ['armed']])
  expect(detectors().length).toBe(2 * 18)
  const answer = ask(engine, promptOf(60), 400)
  const youngest = (): number => Math.min(...detectors().map(({ ageSeconds }) => ageSeconds!))
  for (let drills = 0; drills < 4; drills++) {
    await until(() => youngest() > 0.2)
    await until(() => youngest() < 0.2)
  }
  expect((await answer.outcome).ending.kind).toBe('done')
  expect(engine.models()[0]!.ready).toBe(true)
  // What the drills plant is no fault of the server's.
  expect(telemetry.filter(({ kind }) => kind === 'integrity_fault' || kind === 'transfer_violation')).toEqual([])
})

test("a killed worker's detectors are unknown until its next life has drilled them", async () => {
  running = await start()
  const { engine } = running
  const pid = engine.pids('tiny').decode!
  process.kill(pid, 'SIGKILL')
  await until(() => engine.pids('tiny').decode !== pid)
  expect([statesOf('decode'), statesOf('prefill')]).toEqual([['unknown'], ['armed']])
  expect(engine.models()[0]!.ready).toBe(false)
  await until(() => engine.models()[0]!.ready)
  expect(statesOf('decode')).toEqual(['armed'])
})

test('a model whose start-up drill fails does not start, and the reason names the detector', async () => {
  await expect(start({ id: 'fails-from-0' }, { workerModule })).rejects.toMatchObject({
    code: 'worker_failed_to_start',
    message: OBJECTION,
    details: { code: 'drill_failed' },
  })
})

test('a drill that fails later makes the model unready: nothing new is taken, what runs goes on', async () => {
  running = await start({ id: 'fails-from-1' }, { workerModule, drillEveryMs: 2_000 })
  const { engine, telemetry } = running
  expect(engine.models()[0]!.ready).toBe(true)
  const going = ask(engine, promptOf(20), 1_200)
  await until(() => !engine.models()[0]!.ready)
  expect(engine.models()[0]!.reason).toBe(OBJECTION)
  const { ending } = await ask(engine, promptOf(20), 4).outcome
  expect(ending).toEqual({ kind: 'failed', code: 'unavailable', retryAfterSeconds: 2 })
  expect((await going.outcome).ending.kind).toBe('done')
  expect(telemetry).toContainEqual({
    kind: 'detector',
    model: 'fails-from-1',
    role: 'decode',
    detector: 'guard_row',
    rule: 'R5',
    state: 'failed',
  })
})

test('served without seals, the seal is not among the detectors', async () => {
  running = await start({ integrity: 'tags' })
  expect(running.engine.models()[0]!.ready).toBe(true)
  expect(detectors().map(({ detector }) => detector)).not.toContain('seal')
})
