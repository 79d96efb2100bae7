import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allHome, ask, type Outcome, promptOf, type Running, start, until } from './harness.ts'

const LENGTHS = [5, 16, 17, 100, 700]
const LOOPBACK = '0100007F'
const LISTENING = '0A'

let running: Running
let expected: readonly (readonly number[][])[]
const answers = async ({ engine }: Running): Promise<readonly (readonly number[][])[]> => {
  const sampling = { temperature: 1, seed: 7 }
  const asked = LENGTHS.map((length) => ask(engine, promptOf(length), 24, { n: 2, sampling }).outcome)
  return (await Promise.all(asked)).map(({ tokens }) => tokens)
}

beforeAll(async () => {
  const onSocket = await start()
  expected = await answers(onSocket)
  await onSocket.engine.stop(0)
  running = await start({ transport: 'tcp' })
})
afterAll(async () => {
  await running.engine.stop(0)
})

/** What a process listens on, as address and port in hexadecimal: TCP of both families, as `ss -lntp` has it. */
const listensOn = (pid: number): readonly string[] => {
  const held = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      // Closed since it was listed.
      return []
    }
  })
  return ['tcp', 'tcp6'].flatMap((family) =>
    readFileSync(`/proc/${pid}/net/${family}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === LISTENING && held.includes(`socket:[${inode}]`))
      .map(([, local]) => local!),
  )
}
const decodePort = (): number => {
  const [address] = listensOn(running.engine.pids('tiny').decode!)
  return Number.parseInt(address!.split(':')[1]!, 16)
}
const onLinux = test.skipIf(process.platform !== 'linux')

test('over TCP every answer is what it is over the socket, and no socket file is made', async () => {
  expect(await answers(running)).toEqual(expected)
  await until(() => allHome(running.engine))
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('bulkhead-'))).toEqual([])
})

onLinux('decode listens on one port of the loopback interface, and prefill on none', () => {
  const { prefill, decode } = running.engine.pids('tiny')
  expect(listensOn(decode!).map((local) => local.split(':')[0])).toEqual([LOOPBACK])
  expect(listensOn(prefill!)).toEqual([])
})

onLinux('what speaks to that port without the key is let go, seen, and harms nobody', async () => {
  const { engine, telemetry } = running
  const port = decodePort()
  const working = ask(engine, promptOf(600), 60)
  for (const bytes of [Buffer.alloc(5000, 0), Buffer.alloc(5000, 255), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
    const stranger = connect(port, '127.0.0.1')
    stranger.on('error', () => undefined)
    stranger.write(bytes)
    await new Promise((resolve) => stranger.once('close', resolve))
  }
  expect((await working.outcome).ending.kind).toBe('done')
  // Of one reason those that follow within a second are told together.
  const violations = (): number =>
    telemetry.reduce((sum, event) => sum + (event.kind === 'transfer_violation' ? (event.count ?? 1) : 0), 0)
  await until(() => violations() === 3)
  expect(telemetry).toContainEqual(expect.objectContaining({ kind: 'transfer_violation', model: 'tiny' }))
  const faults = telemetry.filter(({ kind }) => kind === 'integrity_fault' || kind === 'page_quarantined')
  expect(faults).toEqual([])
})

onLinux.each(['decode', 'prefill'] as const)('a killed %s is found again, and answers are the same', async (role) => {
  const { engine } = running
  const port = decodePort()
  const pid = engine.pids('tiny')[role]!
  process.kill(pid, 'SIGKILL')
  await until(() => engine.pids('tiny')[role] !== pid && engine.models()[0]!.ready)
  const { tokens }: Outcome = await ask(engine, promptOf(17), 24, { n: 2, sampling: { temperature: 1, seed: 7 } })
    .outcome
  expect(tokens).toEqual(expected[LENGTHS.indexOf(17)])
  if (role === 'decode') expect(listensOn(engine.pids('tiny').decode!)).toHaveLength(1)
  else expect(decodePort()).toBe(port)
})
