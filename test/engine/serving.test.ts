import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allHome, ask, engineModel, host, isAlive, promptOf, type Running, runtime, start, until } from './harness.ts'

const sockets = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('bulkhead-'))

let running: Running
let before: string[]
beforeAll(async () => {
  before = sockets()
  running = await start()
})
afterAll(async () => {
  const pids = Object.values(running.engine.pids('tiny'))
  await running.engine.stop(0)
  expect(pids.map((pid) => isAlive(pid!))).toEqual([false, false])
  expect(sockets().filter((name) => !before.includes(name))).toEqual([])
})

test('a process of each role runs under a name an operator can find', () => {
  const { prefill, decode } = running.engine.pids('tiny')
  const title = (pid: number): string =>
    execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  expect([title(prefill!), title(decode!)]).toEqual(['bulkhead prefill tiny', 'bulkhead decode tiny'])
})

test.runIf(process.platform === 'linux')(
  'the libraries of the workers report to nobody and keep no books of their own',
  () => {
    for (const pid of Object.values(running.engine.pids('tiny'))) {
      expect(readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')).toContain('ORT_DISABLE_TELEMETRY=1')
      const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkIfOpen(`/proc/${pid}/fd/${fd}`))
      expect(open.filter((path) => /onnxruntime\.db|mat-debug/.test(path))).toEqual([])
      expect(existsSync(join(tmpdir(), `mat-debug-${pid}.log`))).toBe(false)
    }
  },
)

const readlinkIfOpen = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

test('the start-up drill found rows independent of their batch', () => {
  expect(running.engine.drills('tiny')).toEqual({ prefill: { kind: 'invariant' }, decode: { kind: 'invariant' } })
})

test('a request alone, among others, and in chunks gets the same tokens', async () => {
  const { engine } = running
  const lengths = [5, 16, 17, 100, 700]
  const alone = []
  for (const length of lengths) alone.push((await ask(engine, promptOf(length), 24).outcome).tokens[0])
  const crowd = Array.from({ length: 15 }, (_, at) => ask(engine, promptOf(20 + at, at), 40))
  const together = await Promise.all(lengths.map((length) => ask(engine, promptOf(length), 24).outcome))
  expect(together.map(({ tokens }) => tokens[0])).toEqual(alone)
  expect(alone.map((tokens) => tokens!.length)).toEqual(lengths.map(() => 24))
  for (const { outcome } of crowd) expect((await outcome).ending.kind).toBe('done')
  await until(() => allHome(engine))
})

test('n sequences are what each of them is alone, and share the prompt', async () => {
  const { engine } = running
  const sampling = { temperature: 1, seed: 7 }
  const three = await ask(engine, promptOf(40), 12, { n: 3, sampling }).outcome
  const again = await ask(engine, promptOf(40), 12, { n: 3, sampling }).outcome
  expect(three.tokens).toEqual(again.tokens)
  expect(new Set(three.tokens.map(String)).size).toBe(3)
})

test('an aborted request ends at once and its pages are home within a step or two', async () => {
  const { engine } = running
  const one = ask(engine, promptOf(300), 1000)
  await until(() => one.drawn() > 3)
  one.abort()
  const { ending } = await one.outcome
  expect(ending).toEqual({ kind: 'done' })
  expect(await until(() => allHome(engine))).toBeLessThan(1500)
})

test('requests that do not fit together wait, and none is lost', async () => {
  const { engine } = running
  const many = Array.from({ length: 16 }, (_, at) => ask(engine, promptOf(500, at), 60))
  await until(() => engine.models()[0]!.waiting > 0)
  const outcomes = await Promise.all(many.map(({ outcome }) => outcome))
  expect(outcomes.map(({ ending, tokens }) => `${ending.kind} ${tokens[0]!.length}`)).toEqual(many.map(() => 'done 60'))
  await until(() => allHome(engine))
})

test('what speaks on the transfer socket without the key is let go, seen, and harms nobody', async () => {
  const { engine, telemetry } = running
  const [directory] = sockets().filter((name) => !before.includes(name))
  const path = join(tmpdir(), directory!)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  const working = ask(engine, promptOf(600), 60)
  for (const bytes of [Buffer.alloc(5000, 0), Buffer.alloc(5000, 255), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
    const stranger = connect(join(path, '0.s'))
    stranger.on('error', () => undefined)
    stranger.write(bytes)
    await new Promise((resolve) => stranger.once('close', resolve))
  }
  expect((await working.outcome).ending.kind).toBe('done')
  await until(() => telemetry.filter(({ kind }) => kind === 'transfer_violation').length === 3)
})

test('no fault and no loss was reported on the way', async () => {
  await sleep(150)
  const kinds = running.telemetry.map(({ kind }) => kind)
  expect(
    kinds.filter((kind) => kind === 'integrity_fault' || kind === 'worker_down' || kind === 'page_quarantined'),
  ).toEqual([])
})

describe('what cannot be served', () => {
  const secrets = host.createSecrets(new Uint8Array(32).fill(3))
  let directory = ''
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'bh-bad-'))
  })
  afterAll(() => rmSync(directory, { recursive: true }))

  test('a file that is no model stops the start with its own line, and leaves nothing behind', async () => {
    const weights = join(directory, 'bad.gguf')
    writeFileSync(weights, 'not a model')
    const models = [{ ...(await engineModel('tiny')), weights }]
    const found = sockets()
    await expect(runtime.startEngine({ models, secrets, telemetry: () => undefined })).rejects.toMatchObject({
      code: 'worker_failed_to_start',
      message: expect.stringMatching(/bad\.gguf|GGUF/i),
    })
    expect(sockets()).toEqual(found)
  })

  test('a worker that ends without a word stops the start after a few tries', async () => {
    const models = [await engineModel('tiny')]
    const workerModule = new URL('./mute-worker.js', import.meta.url)
    await expect(
      runtime.startEngine({ models, secrets, telemetry: () => undefined, workerModule }),
    ).rejects.toMatchObject({ code: 'worker_failed_to_start', message: 'exited with 3' })
  })

  test('a file other than the one that was inspected is refused', async () => {
    const models = [{ ...(await engineModel('tiny')), digest: '00'.repeat(32) }]
    await expect(runtime.startEngine({ models, secrets, telemetry: () => undefined })).rejects.toMatchObject({
      code: 'worker_failed_to_start',
    })
  })
})
