import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { MessagePort, Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ForwardHost } from '../worker/forward-host.ts'
import type { WorkerInit, WorkerRole } from '../worker/ipc.ts'
import { SharedHost } from './host.ts'
import type { FromHost, RoleInit } from './messages.ts'

const SHAPE = { pages: 2, pageSize: 4, layers: 1, heads: 1, kvHeads: 1, headDim: 4 }

/** A thread that does nothing, and ends when a test says so. */
class Thread extends EventEmitter {
  readonly told: { readonly kind: string; readonly port?: MessagePort }[] = []
  terminated = false

  postMessage(message: { readonly kind: string }): void {
    this.told.push(message)
  }

  async terminate(): Promise<number> {
    this.terminated = true
    return 0
  }
}

class Forward extends Thread implements ForwardHost {
  readonly thread = this as unknown as Worker
  readonly ended = new Promise<void>((resolve) => this.once('exit', () => resolve()))
  asked = false
  /** Answers whoever asked that it does not end. */
  goOn = (): void => undefined

  end(): Promise<boolean> {
    this.asked = true
    const goesOn = new Promise<boolean>((resolve) => {
      this.goOn = () => resolve(false)
    })
    return Promise.race([this.ended.then(() => true), goesOn])
  }
}

interface Life {
  readonly data: RoleInit
  readonly thread: Thread
  readonly forward: Forward
}

let lives: Record<WorkerRole, Life[]>
let said: string[]
let ports: MessagePort[]
let host: SharedHost

beforeEach(() => {
  lives = { prefill: [], decode: [] }
  said = []
  ports = []
  let forward: Forward
  host = new SharedHost({
    threads: {
      forward: (_init, _pool, port) => {
        ports.push(port)
        forward = new Forward()
        return forward
      },
      role: (data) => {
        const thread = new Thread()
        ports.push(data.forward, ...(data.link === null ? [] : [data.link]))
        lives[data.init.role].push({ data, thread, forward })
        return thread as unknown as Worker
      },
    },
    random: { bytes: (count) => new Uint8Array(count).fill(ports.length + 1) },
    send: (message: FromHost) => {
      said.push(message.kind === 'ended' ? `${message.role} ended: ${message.reason}` : message.message.kind)
    },
    leave: (code, forwards) => said.push(`leave ${code}, ${forwards.length} forward threads`),
    die: () => said.push('die'),
  })
})
afterEach(() => {
  for (const { thread } of lives.decode) for (const { port } of thread.told) port?.close()
  for (const port of ports) port.close()
})

const begin = (role: WorkerRole): Life => {
  const keys = { ticket: new Uint8Array(32), link: new Uint8Array(32), seal: new Uint8Array(32) }
  const channel = { kind: 'shared', shapes: { prefill: SHAPE, decode: SHAPE } }
  const init = { role, shape: SHAPE, channel, keys } as unknown as WorkerInit
  host.hear({ kind: 'to', role, message: { kind: 'init', init } })
  return lives[role].at(-1)!
}
const kinds = ({ thread }: Life): string[] => thread.told.map(({ kind }) => kind)

describe('a life of prefill', () => {
  test.each([
    ['its thread', 'thread', 'forward'],
    ['its forward thread', 'forward', 'thread'],
  ] as const)('that %s ends is over when the other has ended as well, and not before', async (_, first, second) => {
    const decode = begin('decode')
    const prefill = begin('prefill')
    prefill[first].emit('exit', 1)
    await nextTurn()
    expect([prefill.thread.terminated, prefill.forward.asked]).toEqual([true, true])
    expect([kinds(decode), said]).toEqual([['link'], []])
    prefill[second].emit('exit', 1)
    await nextTurn()
    expect(kinds(decode)).toEqual(['link', 'link_down'])
    expect(said).toEqual([expect.stringMatching(/^prefill ended: its .*thread ended$/)])
  })

  test.each([
    ['the gateway', 'late', () => host.hear({ kind: 'end', role: 'prefill', reason: 'late' })],
    [
      'decode',
      'closed by decode: noise',
      () => lives.decode[0]!.thread.emit('message', { kind: 'cut', life: 1, reason: 'noise' }),
    ],
  ] as const)('is ended by %s, for its reason, and nothing else with it', async (_, reason, end) => {
    const decode = begin('decode')
    const prefill = begin('prefill')
    end()
    expect([prefill.thread.terminated, decode.thread.terminated]).toEqual([true, false])
    prefill.thread.emit('exit', 1)
    prefill.forward.emit('exit', 0)
    await nextTurn()
    expect(said).toEqual([`prefill ended: ${reason}`])
  })

  test('is not ended by what decode says of an earlier one', () => {
    const decode = begin('decode')
    const prefill = begin('prefill')
    decode.thread.emit('message', { kind: 'cut', life: 0, reason: 'late' })
    expect(prefill.thread.terminated).toBe(false)
  })

  test('whose forward thread cannot be ended takes the process along', async () => {
    begin('decode')
    const prefill = begin('prefill')
    prefill.thread.emit('exit', 1)
    await nextTurn()
    prefill.forward.goOn()
    await nextTurn()
    expect(said).toEqual(['die'])
  })

  test('finds the pools of the one before, with guard rows under a key of its own', async () => {
    const decode = begin('decode')
    const first = begin('prefill')
    first.thread.emit('exit', 1)
    first.forward.emit('exit', 0)
    await nextTurn()
    const { data } = begin('prefill')
    expect([first.data.used, data.used]).toEqual([false, true])
    expect(data.pools.prefill.memory).toBe(decode.data.pools.decode.memory)
    expect(data.pools.prefill.key).not.toEqual(first.data.pools.prefill.key)
    expect(data.pools.decode).toEqual(decode.data.pools.decode)
    expect(kinds(decode)).toEqual(['link', 'link_down', 'link'])
  })

  test('that is there before decode is linked to it when it comes', () => {
    begin('prefill')
    expect(kinds(begin('decode'))).toEqual(['link'])
  })
})

test.each(['thread', 'forward'] as const)('the end of decode’s %s is the end of the process', async (which) => {
  const prefill = begin('prefill')
  begin('decode')[which].emit('exit', 1)
  await nextTurn()
  expect(said).toEqual(['leave 70, 2 forward threads'])
  expect(prefill.thread.terminated).toBe(true)
})

test('nothing begins in a process that ends', () => {
  host.leave(0)
  begin('prefill')
  expect([lives.prefill, said]).toEqual([[], ['leave 0, 0 forward threads']])
})

test('pools that no memory can hold are said to be so, and end the process', () => {
  const shapes = { prefill: { ...SHAPE, pages: 2 ** 24 }, decode: { ...SHAPE, pages: 2 ** 24 } }
  const keys = { seal: new Uint8Array(32) }
  const init = { role: 'prefill', shape: SHAPE, channel: { kind: 'shared', shapes }, keys } as unknown as WorkerInit
  host.hear({ kind: 'to', role: 'prefill', message: { kind: 'init', init } })
  expect(said).toEqual(['refused', 'leave 70, 0 forward threads'])
})
