import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allHome, ask, isAlive, promptOf, type Running, start, until } from './harness.ts'

const BACK_MS = 2_000

let running: Running
beforeAll(async () => {
  running = await start({}, { hungMs: 1_500 })
})
afterAll(() => running.engine.stop(0))

const readyAgain = async (): Promise<number> => {
  const { engine } = running
  const waited = await until(() => engine.models()[0]!.ready)
  return waited
}

const kill = async (role: 'prefill' | 'decode'): Promise<void> => {
  const pid = running.engine.pids('tiny')[role]!
  process.kill(pid, 'SIGKILL')
  await until(() => running.engine.pids('tiny')[role] !== pid)
}

test('decode killed while it answers: the answer fails at once, decode is back, pages are home', async () => {
  const { engine } = running
  const reference = (await ask(engine, promptOf(200), 30).outcome).tokens[0]!
  const one = ask(engine, promptOf(200), 1500)
  await until(() => one.drawn() > 5)
  const at = performance.now()
  await kill('decode')
  const { ending, tokens } = await one.outcome
  expect(ending).toMatchObject({ kind: 'failed', code: 'worker_lost' })
  expect(performance.now() - at).toBeLessThan(500)
  expect(tokens[0]!.slice(0, 30)).toEqual(reference.slice(0, Math.min(30, tokens[0]!.length)))
  await readyAgain()
  // A test fails only at five times the target.
  expect(performance.now() - at).toBeLessThan(5 * BACK_MS)
  console.log(`decode back after ${Math.round(performance.now() - at)} ms`)
  expect((await ask(engine, promptOf(200), 30).outcome).tokens[0]).toEqual(reference)
  await until(() => allHome(engine))
})

test('prefill killed before an answer began: it begins anew and is the same; what decode had goes on', async () => {
  const { engine } = running
  const reference = (await ask(engine, promptOf(900), 20).outcome).tokens[0]!
  const going = ask(engine, promptOf(50), 1000)
  await until(() => going.drawn() > 5)
  const one = ask(engine, promptOf(900), 20)
  await sleep(15)
  const at = performance.now()
  await kill('prefill')
  const outcome = await one.outcome
  expect(outcome.ending.kind).toBe('done')
  expect(outcome.tokens[0]).toEqual(reference)
  await readyAgain()
  console.log(`prefill back after ${Math.round(performance.now() - at)} ms`)
  expect((await going.outcome).ending.kind).toBe('done')
  await until(() => allHome(engine))
})

test('a worker that hangs is killed and replaced', async () => {
  const { engine, telemetry } = running
  const pid = engine.pids('tiny').decode!
  process.kill(pid, 'SIGSTOP')
  await until(() => engine.pids('tiny').decode !== pid)
  expect(telemetry.filter(({ kind }) => kind === 'worker_down').at(-1)).toMatchObject({ reason: 'killed: no answer' })
  await readyAgain()
})

test('killed at random moments under load, every request ends once, as it should or as a failure', async () => {
  const { engine } = running
  const lengths = [20, 130, 400]
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
      // Never a wrong token: what came is the beginning of the right answer, and all of it if the ending says so.
      expect(tokens[0]).toEqual(alone[which]!.slice(0, ending.kind === 'done' ? 25 : tokens[0]!.length))
    }
    outcomes.push(check())
  }
  for (let round = 0; round < 4; round += 1) {
    for (let at = 0; at < 8; at += 1) load(at)
    await sleep(20 + round * 45)
    await kill(round % 2 === 0 ? 'decode' : 'prefill')
    await readyAgain()
  }
  await Promise.all(outcomes)
  console.log('endings', endings)
  expect(Object.values(endings).reduce((sum, count) => sum + count, 0)).toBe(32)
  for (const name of Object.keys(endings)) expect(['done', 'worker_lost']).toContain(name)
  await until(() => allHome(engine))
})

test('stop lets a running answer end, and takes nothing new', async () => {
  const other = await start()
  const pids = Object.values(other.engine.pids('tiny'))
  const one = ask(other.engine, promptOf(50), 60)
  await until(() => one.drawn() > 1)
  const stopping = other.engine.stop(5_000)
  const late = await ask(other.engine, promptOf(50), 5).outcome
  expect(late.ending).toMatchObject({ kind: 'failed', code: 'unavailable' })
  expect((await one.outcome).tokens[0]).toHaveLength(60)
  await stopping
  expect(pids.map((pid) => isAlive(pid!))).toEqual([false, false])
})

test.each(['socket', 'shared'])(
  'stopped in the middle of their passes, workers end without a word: %s',
  async (transport) => {
    const child = spawn(process.execPath, [resolve(import.meta.dirname, 'stopping-process.js'), transport, '4'])
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        said += data
      })
    const code = await new Promise((ended) => child.once('close', ended))
    expect([code, said]).toEqual([0, ''])
  },
)

test.each(['socket', 'shared'])(
  'when the gateway is killed in the middle of an answer, no worker outlives it and no socket stays: %s',
  async (transport) => {
    const places = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('bulkhead-'))
    const before = places()
    const gateway = spawn(process.execPath, [resolve(import.meta.dirname, 'gateway-process.js'), transport], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const pids = await firstLine(gateway)
    expect(pids).toHaveLength(2)
    expect(pids.map(isAlive)).toEqual([true, true])
    expect(places()).toHaveLength(before.length + (transport === 'socket' ? 1 : 0))
    gateway.kill('SIGKILL')
    await until(() => pids.every((pid) => !isAlive(pid) || isZombie(pid)))
    expect(places()).toEqual(before)
  },
)

test('a worker whose main thread hangs does not outlive its gateway either', async () => {
  const words = [resolve(import.meta.dirname, 'gateway-process.js'), 'socket', './hanging-worker.js']
  const gateway = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const pids = await firstLine(gateway)
  for (const pid of pids) process.kill(pid, 'SIGUSR2')
  await sleep(50)
  gateway.kill('SIGKILL')
  await until(() => pids.every((pid) => !isAlive(pid) || isZombie(pid)), 20_000)
})

const firstLine = async (child: ChildProcess): Promise<number[]> => {
  const line = await new Promise<string>((resolve) => child.stdout!.once('data', (data) => resolve(String(data))))
  return JSON.parse(line) as number[]
}

/** Ended, but its new parent (process 1 of a container) has not asked how. */
const isZombie = (pid: number): boolean => {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
