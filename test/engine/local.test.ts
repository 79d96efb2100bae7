import { afterAll, expect, test } from 'vitest'
import type { LocalEngine, LocalEngineOptions } from '../../src/runtime/index.ts'
import type { TelemetryEvent } from '../../src/telemetry/index.ts'
import { allHome, ask, cluster, engineModel, promptOf, runtime, start, until } from './harness.ts'

const telemetry: TelemetryEvent[] = []
const open: LocalEngine[] = []
afterAll(async () => {
  for (const engine of open) await engine.close()
})

const startLocal = async (change: Partial<LocalEngineOptions> = {}): Promise<LocalEngine> => {
  const engine = await runtime.startLocalEngine({
    model: await engineModel('tiny', { prefillPool: 1024, decodePool: 1024 }),
    fences: cluster.fullFences(),
    telemetry: (event) => telemetry.push(event),
    ...change,
  })
  open.push(engine)
  return engine
}

test('one process answers as two do, token for token', async () => {
  const local = await startLocal()
  const processes = await start()
  for (const [length, n] of [
    [5, 1],
    [300, 1],
    [40, 3],
  ] as const) {
    const change = { n, sampling: { temperature: 0.8, seed: 11 } }
    const here = await ask(local, promptOf(length), 20, change).outcome
    const there = await ask(processes.engine, promptOf(length), 20, change).outcome
    expect(here.tokens).toEqual(there.tokens)
  }
  await processes.engine.stop(0)
  expect(allHome(local)).toBe(true)
})

test('every change of the pools can be watched', async () => {
  const cells = new Set<string>()
  let paced = 0
  const local = await startLocal({
    onStep: (role, use) => {
      if (role === 'decode') for (const cell of use().cells) cells.add(cell)
    },
    pace: async () => {
      paced += 1
    },
  })
  await ask(local, promptOf(40), 5).outcome
  expect([...cells].sort()).toEqual(expect.arrayContaining(['.', 'f', 'r', 's']))
  // Three pages in each of four layers, one pass of prefill, five of decode, and the manifest.
  expect(paced).toBe(3 * 4 + 1 + 5 + 1)
})

test('a prefill that computes another prompt than the contract says yields no token', async () => {
  const local = await startLocal({
    rewrite: {
      toPrefill: (message) => (message.kind === 'prefill' ? { ...message, ids: message.ids.subarray(0, 1) } : message),
    },
  })
  const { ending, tokens } = await ask(local, promptOf(100), 20).outcome
  expect(ending).toMatchObject({ kind: 'failed', code: 'bad_ticket' })
  expect(tokens).toEqual([[]])
  await until(() => allHome(local))
})

test('a file that is no model is refused', async () => {
  const model = { ...(await engineModel('tiny')), digest: 'ff'.repeat(32) }
  await expect(startLocal({ model })).rejects.toMatchObject({ code: 'model_unusable' })
})
