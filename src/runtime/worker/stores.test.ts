import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import type { ManifestFrame, PageFrame, SendPageEffect } from '../../cluster/index.ts'
import { createPools, openNeighbour, openPool, type PoolKernels } from '../../kernels/index.ts'
import type { PageSink } from './ports.ts'
import { Stores } from './stores.ts'

const SHAPE = { pages: 6, pageSize: 4, layers: 2, heads: 1, kvHeads: 1, headDim: 4 }
const PAGE_BYTES = 2 * 4 * 4 * 4
const LINEAGE = new Uint8Array(32).fill(9)
const TAG = { owner: 7, generation: 1 }
const THEIRS = { owner: 3, generation: 2 }

let prefill: PoolKernels
let decode: PoolKernels
let stores: Stores
let log: string[]
let frames: PageFrame[]

const sink: PageSink = {
  sendPage: (frame, rows) => {
    frames.push(frame)
    log.push(`page ${frame.ordinal}, ${rows.length} bytes`)
    return true
  },
  sendManifest: () => log.push('manifest') > 0,
  sendAcknowledge: ({ id }) => log.push(`acknowledged ${id}`),
}

const one = (value: number): Uint32Array => Uint32Array.of(value)
const start = (turnBytes?: number): void => {
  const keyed = { shape: SHAPE, sealKey: new Uint8Array(32).fill(1) }
  const pools = createPools([1n, 2n].map((key) => ({ ...keyed, key: BigUint64Array.of(key, key) })))
  const open = (at: number): PoolKernels =>
    openPool(pools[at]!, {
      lane: 0,
      checks: { tags: true, filled: true, guards: true },
      ropeTheta: 10_000,
      ropeDims: 4,
    })
  ;[prefill, decode] = [open(0), open(1)]
  stores = new Stores(
    prefill,
    openNeighbour(pools[0]!, pools[1]!),
    (id, fault) => log.push(`sent ${id}${fault ? ` ${fault}` : ''}`),
    turnBytes,
  )
  for (let page = 0; page < SHAPE.pages; page++) {
    prefill.claim(one(page), one(TAG.owner), one(TAG.generation), one(page))
    prefill.writeRows(page, 1, 4, new Uint8Array(PAGE_BYTES).fill(page + 1))
    prefill.markFilled(page, 1, 4)
    decode.claim(one(page), one(THEIRS.owner), one(THEIRS.generation), one(page))
  }
  log = []
  frames = []
}
beforeEach(() => start())

const effect = (page: number, change: Partial<SendPageEffect> = {}): SendPageEffect => ({
  kind: 'send_page',
  id: page,
  page,
  tag: TAG,
  frame: { kind: 'page', requestId: 'r', attempt: 1, lease: { id: 1, epoch: 1 }, layer: 1, ordinal: page, rows: 4 },
  lineageKey: LINEAGE,
  target: { page: 5 - page, tag: THEIRS },
  ...change,
})
const rowsOf = (kernels: PoolKernels, page: number, rows = 4): Uint8Array => {
  const into = new Uint8Array(kernels.rowBytes(rows))
  kernels.readRows(page, 1, rows, into)
  return into
}

test('rows are stored where the lease says, and word of them follows with the seal of what was read', () => {
  stores.up(sink)
  stores.push(effect(2))
  expect(rowsOf(decode, 3)).toEqual(rowsOf(prefill, 2))
  expect(frames[0]!.seal).toEqual(prefill.seal(2, 1, 4, LINEAGE))
  expect(frames[0]!.seal).toEqual(decode.seal(3, 1, 4, LINEAGE))
  // That they stand there is for decode to say, once it has verified them.
  expect(decode.filled(3, 1)).toBe(0)
  expect(log).toEqual(['page 2, 0 bytes', 'sent 2'])
})

test.each<[string, Partial<SendPageEffect>]>([
  ['lease_gone', { target: { page: 3, tag: { ...THEIRS, generation: 3 } } }],
  ['lease_gone', { target: { page: 3, tag: { ...THEIRS, owner: 4 } } }],
  ['lease_gone', { target: null }],
  ['page_tag', { tag: { ...TAG, owner: 8 } }],
])('%s: nothing is stored and nothing said', (fault, change) => {
  stores.up(sink)
  stores.push(effect(2, change))
  expect(log).toEqual([`sent 2 ${fault}`])
  expect(rowsOf(decode, 3)).toEqual(new Uint8Array(PAGE_BYTES))
})

test('rows that are not there yet are not stored', () => {
  stores.up(sink)
  prefill.markFilled(2, 1, 3)
  stores.push(effect(2))
  expect(log).toEqual(['sent 2 unfilled_row'])
})

test('without the fence of tags and without seals, what is asked for is stored', () => {
  stores.up(sink)
  stores.push(effect(2, { tag: null, lineageKey: null, target: { page: 3, tag: null } }))
  expect(rowsOf(decode, 3)).toEqual(rowsOf(prefill, 2))
  expect(frames[0]!.seal).toEqual(new Uint8Array(16))
})

test('a turn stores so much and no more; everything stays in order, the last word too', async () => {
  start(2 * PAGE_BYTES)
  stores.up(sink)
  for (const page of [0, 1, 2, 3, 4]) stores.push(effect(page))
  stores.push({ kind: 'send_manifest', frame: { kind: 'manifest' } as ManifestFrame })
  stores.push({ kind: 'send_acknowledge', lease: { id: 1, epoch: 1 } })
  const sent = (): string[] => log.filter((line) => !line.startsWith('page'))
  expect(sent()).toEqual(['sent 0', 'sent 1'])
  await nextTurn()
  expect(sent()).toEqual(['sent 0', 'sent 1', 'sent 2', 'sent 3'])
  await nextTurn()
  expect(sent()).toEqual(['sent 0', 'sent 1', 'sent 2', 'sent 3', 'sent 4', 'manifest', 'acknowledged 1'])
})

test('what waits when the link is gone is not stored any more', async () => {
  start(PAGE_BYTES)
  stores.push(effect(0))
  stores.up(sink)
  stores.push(effect(1))
  stores.push(effect(2))
  stores.down()
  await nextTurn()
  expect(log).toEqual(['page 1, 0 bytes', 'sent 1'])
})
