import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { LeaseSink, PageSink } from '../worker/ports.ts'
import { decodeLink, prefillLink } from './links.ts'
import type { LinkChange } from './messages.ts'

const LEASE = { id: 4, epoch: 1 }
const frame = (ordinal: number): PageFrame => ({
  kind: 'page',
  requestId: 'r',
  attempt: 1,
  lease: LEASE,
  layer: 0,
  ordinal,
  rows: 4,
  seal: new Uint8Array(16).fill(ordinal),
})

let log: string[]
let change: (change: LinkChange) => void
let toPrefill: LeaseSink
let toDecode: PageSink
let ports: MessagePort[]

beforeEach(async () => {
  log = []
  ports = []
  const lives = {
    listen: (listener: (change: LinkChange) => void) => {
      change = listener
    },
    end: (life: number, reason: string) => void log.push(`end ${life} ${reason}`),
  }
  const link = await decodeLink(lives)({
    up: (sink) => {
      toPrefill = sink
      log.push('decode up')
      sink.openLeases!(LEASE)
    },
    joined: () => log.push('decode joined'),
    down: () => log.push('decode down'),
    page: ({ ordinal }, rows) => log.push(`page ${ordinal}${rows ? ' with bytes' : ''}`),
    manifest: ({ pages }) => log.push(`manifest ${pages}`),
    acknowledged: ({ id }) => log.push(`acknowledged ${id}`),
    violation: () => undefined,
  })
  cut = link.cut
})
afterEach(() => {
  for (const port of ports) port.close()
})
let cut: (reason: string) => void

/** A life of prefill begins. */
const begin = (): { readonly come: () => void; readonly prefillPort: MessagePort } => {
  const { port1, port2 } = new MessageChannel()
  ports.push(port1, port2)
  change({ kind: 'link', port: port2, life: 1 })
  const come = (): void =>
    prefillLink(port1)({
      up: (sink, from) => {
        toDecode = sink
        log.push(`prefill up from ${from?.id}`)
      },
      joined: () => log.push('prefill joined'),
      down: () => undefined,
      drained: () => undefined,
      leaseClosed: ({ lease, floor }) => log.push(`closed ${lease.id} floor ${floor}`),
      violation: () => undefined,
    })
  return { come, prefillPort: port1 }
}

const settled = async (length: number): Promise<void> => {
  for (let turn = 0; turn < 200 && log.length < length; turn++) await new Promise((next) => setTimeout(next, 1))
  await new Promise((next) => setTimeout(next, 5))
}

test('prefill is up once decode has said from which lease on it may store, and both hear each other in order', async () => {
  const { come } = begin()
  await settled(1)
  // Nobody is there yet.
  expect(log).toEqual([])
  come()
  await settled(4)
  expect(log).toEqual(['decode up', 'decode joined', 'prefill up from 4', 'prefill joined'])
  log.length = 0
  toDecode.sendPage(frame(0), new Uint8Array(0), () => undefined)
  toDecode.sendPage(frame(1), new Uint8Array(0), () => undefined)
  toDecode.sendManifest({ kind: 'manifest', pages: 2 } as ManifestFrame)
  toDecode.sendAcknowledge!(LEASE)
  await settled(4)
  expect(log).toEqual(['page 0', 'page 1', 'manifest 2', 'acknowledged 4'])
  toPrefill.sendLeaseClosed({ kind: 'lease_closed', lease: LEASE, floor: 5 })
  await settled(5)
  expect(log.at(-1)).toBe('closed 4 floor 5')
})

test('what a life said that is known ended is not heard any more, and the next one begins anew', async () => {
  begin().come()
  await settled(4)
  log.length = 0
  toDecode.sendPage(frame(0), new Uint8Array(0), () => undefined)
  toDecode.sendAcknowledge!(LEASE)
  change({ kind: 'link_down' })
  await settled(2)
  expect(log).toEqual(['decode down'])
  begin().come()
  await settled(5)
  expect(log).toEqual(['decode down', 'decode up', 'decode joined', 'prefill up from 4', 'prefill joined'])
})

test('a life that ended before it came is nothing to decode', async () => {
  const { prefillPort } = begin()
  prefillPort.close()
  change({ kind: 'link_down' })
  begin().come()
  await settled(4)
  expect(log).toEqual(['decode up', 'decode joined', 'prefill up from 4', 'prefill joined'])
})

test('cutting the link is ending the life', () => {
  begin()
  cut('noise')
  expect(log).toEqual(['end 1 noise'])
})
