/** `transport: shared`: both workers of a model are threads over one memory, and prefill stores into decode's pages. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { EngineEvent } from '../../src/cluster/index.ts'
import type { Engine } from '../../src/runtime/index.ts'
import { allHome, ask, cluster, isAlive, promptOf, type Running, start, until } from './harness.ts'

type Token = Extract<EngineEvent, { kind: 'token' }>

/** Everything that was sampled, with its log-probabilities. */
const answerOf = async (engine: Engine, length: number, n: number, salt = 0): Promise<readonly Token[]> => {
  const sampled: Token[] = []
  const { ending } = await ask(engine, promptOf(length, salt), 12, {
    n,
    sampling: { temperature: 0.9, seed: length, topLogprobs: 3 },
    onToken: (event) => sampled.push(event),
  }).outcome
  expect(ending.kind).toBe('done')
  // Sequences of one request come in any order; tokens of one sequence do not.
  return sampled.sort((a, b) => a.sequence - b.sequence)
}

describe('answers', () => {
  const open: Running[] = []
  afterAll(async () => {
    for (const { engine } of open) await engine.stop(0)
  })

  test('are those that come over a socket, bit for bit', async () => {
    const prefixCache = cluster.privatePrefixes
    for (const transport of ['socket', 'shared'] as const) open.push(await start({ transport, prefixCache }))
    const [socket, shared] = open.map(({ engine }) => engine)
    const asked: [length: number, n: number, salt: number][] = [
      [1, 1, 0],
      [16, 2, 0],
      [37, 2, 1],
      [400, 1, 2],
      // Out of the cache, but for its last page.
      [400, 3, 2],
      [1200, 1, 3],
    ]
    for (const [length, n, salt] of asked) {
      expect(await answerOf(shared!, length, n, salt)).toEqual(await answerOf(socket!, length, n, salt))
    }
    const together = await Promise.all(asked.map(([length, n, salt]) => answerOf(shared!, length, n, salt)))
    for (const [at, [length, n, salt]] of asked.entries())
      expect(together[at]).toEqual(await answerOf(socket!, length, n, salt))
    // A new life of prefill finds a pool that was in use, and nothing of it in its cache.
    shared!.restart('tiny', 'prefill')
    await until(() => !shared!.models()[0]!.ready)
    await until(() => shared!.models()[0]!.ready)
    expect(shared!.models()[0]!.pools.prefill.free).toBe(shared!.models()[0]!.pools.prefill.total)
    for (const [length, n, salt] of asked)
      expect(await answerOf(shared!, length, n, salt)).toEqual(await answerOf(socket!, length, n, salt))
  })
})

describe('one process', () => {
  let running: Running
  beforeAll(async () => {
    const workerModule = new URL('./shared-worker.js', import.meta.url)
    running = await start({ transport: 'shared' }, { hungMs: 1_500, drillEveryMs: 60_000, workerModule })
  })
  afterAll(() => running.engine.stop(0))
  afterEach(async () => {
    await until(() => allHome(running.engine))
    expect(running.telemetry.filter(({ kind }) => kind === 'integrity_fault')).toEqual([])
  })

  const pidNow = (): number => {
    const { prefill, decode } = running.engine.pids('tiny')
    expect(prefill).toBe(decode)
    return decode!
  }
  const SIGNALS: Record<string, NodeJS.Signals> = {
    'kill -9': 'SIGKILL',
    SIGSTOP: 'SIGSTOP',
    'end of its thread': 'SIGUSR2',
  }
  const readyAgain = (): Promise<number> => until(() => running.engine.models()[0]!.ready)

  /** Ends prefill's thread, whatever it is doing, and waits for its next life. */
  const endPrefill = async (): Promise<void> => {
    running.engine.restart('tiny', 'prefill')
    await until(() => !running.engine.models()[0]!.ready)
    await readyAgain()
  }

  test('hosts both, and every detector of both is armed', () => {
    const [model] = running.engine.models()
    expect(pidNow()).toBeGreaterThan(0)
    expect(model).toMatchObject({ ready: true, reason: null })
    // No frame crosses a wire.
    expect(model!.detectors!.map(({ role, state }) => `${role} ${state}`).sort()).toEqual([
      ...Array(17).fill('decode armed'),
      ...Array(17).fill('prefill armed'),
    ])
  })

  test('prefill ended before an answer began: it begins anew and is the same; decode and what it had go on', async () => {
    const { engine, telemetry } = running
    const reference = (await ask(engine, promptOf(900), 20).outcome).tokens[0]!
    const pid = pidNow()
    const going = ask(engine, promptOf(50), 1000)
    await until(() => going.drawn() > 5)
    const one = ask(engine, promptOf(900), 20)
    await sleep(25)
    const at = performance.now()
    await endPrefill()
    console.log(`prefill back after ${Math.round(performance.now() - at)} ms`)
    const outcome = await one.outcome
    expect([outcome.ending.kind, outcome.tokens[0]]).toEqual(['done', reference])
    expect((await going.outcome).ending.kind).toBe('done')
    expect(pidNow()).toBe(pid)
    expect(telemetry).toContainEqual(expect.objectContaining({ kind: 'worker_down', role: 'prefill' }))
    expect(telemetry).not.toContainEqual(expect.objectContaining({ kind: 'worker_down', role: 'decode' }))
  })

  test('prefill ended at random moments under load: each request ends once, and no token is another', async () => {
    const { engine, telemetry } = running
    const pid = pidNow()
    const lengths = [20, 130, 700]
    const alone: number[][] = []
    for (const length of lengths) alone.push((await ask(engine, promptOf(length), 25).outcome).tokens[0]!)
    const outcomes: Promise<void>[] = []
    const endings: Record<string, number> = {}
    const load = (at: number): void => {
      const which = at % lengths.length
      const check = async (): Promise<void> => {
        const { ending, tokens } = await ask(engine, promptOf(lengths[which]!), 25).outcome
        const name = ending.kind === 'failed' ? ending.code : ending.kind
        endings[name] = (endings[name] ?? 0) + 1
        expect(tokens[0]).toEqual(alone[which]!.slice(0, ending.kind === 'done' ? 25 : tokens[0]!.length))
      }
      outcomes.push(check())
    }
    for (let round = 0; round < 12; round++) {
      for (let at = 0; at < 6; at++) load(at)
      await sleep(3 + Math.random() * 90)
      await endPrefill()
    }
    await Promise.all(outcomes)
    console.log('endings', endings)
    expect(Object.values(endings).reduce((sum, count) => sum + count, 0)).toBe(72)
    for (const name of Object.keys(endings)) expect(['done', 'worker_lost']).toContain(name)
    expect(pidNow()).toBe(pid)
    await until(() => allHome(engine))
    // Leases that were open when the thread ended; that their pages wait for its end is in `runtime/shared/host.test.ts`.
    const released = telemetry.filter((event) => event.kind === 'lease_released' && event.by === 'writer_ended')
    expect(released.length).toBeGreaterThan(0)
  })

  test('aborted while its prompt is computed: its pages are fenced until prefill gives its word, and come home', async () => {
    const { engine, telemetry } = running
    telemetry.length = 0
    for (let round = 0; round < 10; round++) {
      const one = ask(engine, promptOf(1500, round), 20)
      await until(() => engine.models()[0]!.running === 1)
      await sleep(10 + 12 * round)
      one.abort()
      await one.outcome
      await until(() => allHome(engine))
    }
    const pages = (kind: 'lease_fenced' | 'lease_released'): number[] =>
      telemetry.flatMap((event) => (event.kind === kind ? [event.pages] : []))
    expect(pages('lease_fenced').length).toBeGreaterThan(0)
    expect(pages('lease_released')).toEqual(pages('lease_fenced'))
    expect(telemetry.some((event) => event.kind === 'lease_released' && event.by !== 'acknowledged')).toBe(false)
  })

  test.each(['kill -9', 'SIGSTOP', 'end of its thread', 'restart'])(
    '%s: both are down, and both come back',
    async (how) => {
      const { engine, telemetry } = running
      telemetry.length = 0
      const reference = (await ask(engine, promptOf(200), 30).outcome).tokens[0]!
      const pid = pidNow()
      const one = ask(engine, promptOf(200), 1500)
      await until(() => one.drawn() > 5)
      const at = performance.now()
      if (how === 'restart') engine.restart('tiny', 'decode')
      else process.kill(pid, SIGNALS[how])
      expect((await one.outcome).ending).toMatchObject({ kind: 'failed', code: 'worker_lost' })
      expect(isAlive(pid)).toBe(false)
      await readyAgain()
      console.log(`${how}: back after ${Math.round(performance.now() - at)} ms`)
      expect(pidNow()).not.toBe(pid)
      const down = telemetry.flatMap((event) => (event.kind === 'worker_down' ? [event.role] : []))
      expect(down.sort()).toEqual(['decode', 'prefill'])
      expect((await ask(engine, promptOf(200), 30).outcome).tokens[0]).toEqual(reference)
    },
  )
})

test('stop lets a running answer end, and no process is left', async () => {
  const { engine } = await start({ transport: 'shared' })
  const pid = engine.pids('tiny').decode!
  const one = ask(engine, promptOf(50), 60)
  await until(() => one.drawn() > 1)
  await engine.stop(5_000)
  expect((await one.outcome).tokens[0]).toHaveLength(60)
  expect(isAlive(pid)).toBe(false)
})

test('a model that two pools in one memory cannot hold does not start, and says why', async () => {
  const pool = 600_000
  await expect(start({ transport: 'shared', prefillPool: pool, decodePool: pool })).rejects.toMatchObject({
    code: 'worker_failed_to_start',
    message: expect.stringContaining('together'),
  })
})
