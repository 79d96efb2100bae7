import { beforeEach, describe, expect, test } from 'vitest'
import type {
  DecodeEffect,
  DecodeEvent,
  PageFrame,
  PlaceEffect,
  PoolUse,
  PrefillEffect,
  PrefillEvent,
} from '../../cluster/index.ts'
import { createPool, openPool, type PoolKernels } from '../../kernels/index.ts'
import { createDecodeCore } from './decode-core.ts'
import type { WorkerPorts } from './ports.ts'
import { createPrefillCore } from './prefill-core.ts'

const SHAPE = { pages: 4, pageSize: 4, layers: 2, heads: 1, kvHeads: 1, headDim: 4 }
const LINEAGE = new Uint8Array(32).fill(9)
const POOL: PoolUse = { total: 4, free: 4, owned: 0, draining: 0, quarantined: 0, cells: '....' }

let kernels: PoolKernels
const log: string[] = []

beforeEach(() => {
  log.length = 0
  const checks = { tags: true, filled: true, guards: true }
  const pool = createPool(SHAPE, new BigUint64Array([3n, 5n]))
  kernels = openPool(pool, { lane: 0, checks, ropeTheta: 10_000, ropeDims: 4 })
})

const ports = <Message extends { kind: string }>(): WorkerPorts<Message> => ({
  now: () => 5,
  kernels,
  poolPages: SHAPE.pages,
  pageSize: SHAPE.pageSize,
  forward: (plan) => log.push(`forward ${plan.id}`),
  send: (message) => log.push(`send ${message.kind}`),
  telemetry: (event) => log.push(`telemetry ${event.kind}`),
  idle: () => log.push('idle'),
})

/** A machine that answers each kind of event with the effects written down for it, and notes the events. */
const scripted = <Event extends { kind: string }, Effect>(script: Record<string, Effect[]>) => {
  const seen: Event[] = []
  const step = (event: Event): Effect[] => {
    seen.push(event)
    const effects = script[event.kind] ?? []
    delete script[event.kind]
    return effects
  }
  return { seen, machine: { step, poolUse: () => POOL, poolCounts: () => POOL, audit: () => null } }
}

const one = (value: number): Uint32Array => Uint32Array.of(value)
const claim = { kind: 'claim', pages: one(2), owners: one(7), generations: one(1), ordinals: one(0) } as const

describe('decode', () => {
  const frame: PageFrame = {
    kind: 'page',
    requestId: 'r',
    attempt: 1,
    lease: { id: 1, epoch: 1 },
    layer: 1,
    ordinal: 0,
    rows: 3,
    seal: new Uint8Array(16),
  }
  const rowsOf = (fill: number): Uint8Array => new Uint8Array(kernels.rowBytes(3)).fill(fill)
  const sealOf = (rows: Uint8Array): Uint8Array => {
    kernels.writeRows(3, 1, 3, rows)
    return kernels.seal(3, 1, 3, LINEAGE)
  }
  const place = (seal: Uint8Array, lineageKey: Uint8Array | null): PlaceEffect => ({
    kind: 'place',
    id: 11,
    stored: false,
    page: 2,
    layer: 1,
    rows: 3,
    seal,
    lineageKey,
  })
  const run = (effect: DecodeEffect, rows?: Uint8Array): DecodeEvent[] => {
    const { seen, machine } = scripted<DecodeEvent, DecodeEffect>({ start: [claim], page_frame: [effect] })
    const core = createDecodeCore(machine, ports(), (reason) => log.push(`cut ${reason}`))
    core.start()
    core.page(frame, rows)
    return seen
  }

  test('a page whose seal verifies is placed and counts as filled', () => {
    const seen = run(place(sealOf(rowsOf(3)), LINEAGE), rowsOf(3))
    expect(seen.at(-1)).toMatchObject({ kind: 'placed', id: 11, outcome: 'ok' })
    expect(kernels.filled(2, 1)).toBe(3)
    const back = new Uint8Array(kernels.rowBytes(3))
    kernels.readRows(2, 1, 3, back)
    expect(back).toEqual(rowsOf(3))
  })

  test('other bytes under the same seal never count as filled', () => {
    const seen = run(place(sealOf(rowsOf(3)), LINEAGE), rowsOf(4))
    expect(seen.at(-1)).toMatchObject({ kind: 'placed', id: 11, outcome: 'bad_seal' })
    expect(kernels.filled(2, 1)).toBe(0)
  })

  test('a page that the writer stored is verified where it stands, and nothing is written', () => {
    const seal = sealOf(rowsOf(3))
    kernels.writeRows(2, 1, 3, rowsOf(3))
    expect(run({ ...place(seal, LINEAGE), stored: true }).at(-1)).toMatchObject({ kind: 'placed', outcome: 'ok' })
    expect(kernels.filled(2, 1)).toBe(3)
  })

  test('a page in which something else stands than was sealed never counts as filled', () => {
    const seal = sealOf(rowsOf(3))
    kernels.writeRows(2, 1, 3, rowsOf(5))
    expect(run({ ...place(seal, LINEAGE), stored: true }, rowsOf(3)).at(-1)).toMatchObject({ outcome: 'bad_seal' })
    expect(kernels.filled(2, 1)).toBe(0)
  })

  test("the writer's word and its leases go the way they came", () => {
    const lease = { id: 4, epoch: 1 }
    const { seen, machine } = scripted<DecodeEvent, DecodeEffect>({
      link_up: [{ kind: 'open_leases', from: { id: 4, epoch: 1 } }],
    })
    const core = createDecodeCore(machine, ports(), () => undefined)
    core.linkUp({ sendLeaseClosed: () => true, openLeases: ({ id }) => log.push(`open from ${id}`) })
    core.acknowledged(lease)
    expect(log.filter((line) => line !== 'idle')).toEqual(['open from 4'])
    expect(seen.at(-1)).toMatchObject({ kind: 'acknowledged', lease })
  })

  test('without seals the bytes are taken as they are', () => {
    run(place(new Uint8Array(16), null), rowsOf(4))
    expect(kernels.filled(2, 1)).toBe(3)
  })

  test('a discarded frame touches nothing', () => {
    run({ kind: 'discard', reason: 'unknown_lease' }, rowsOf(4))
    expect(kernels.filled(2, 1)).toBe(0)
  })

  test('closing a lease is said on the channel while there is one, and closing the channel cuts it', () => {
    const lease = { id: 4, epoch: 1 }
    const { machine } = scripted<DecodeEvent, DecodeEffect>({
      start: [{ kind: 'close_lease', lease }],
      manifest: [
        { kind: 'close_lease', lease },
        { kind: 'close_link', reason: 'noise' },
      ],
    })
    const core = createDecodeCore(machine, ports(), (reason) => log.push(`cut ${reason}`))
    core.start()
    core.linkUp({
      sendLeaseClosed: (message) => {
        log.push(`closed ${message.lease.id}`)
        return true
      },
    })
    core.manifest({ kind: 'manifest' } as never)
    expect(log).toEqual(['idle', 'idle', 'closed 4', 'telemetry transfer_violation', 'cut noise', 'idle'])
  })

  test('tails are copied before it is told', () => {
    kernels.writeRows(0, 1, 3, rowsOf(5))
    kernels.markFilled(0, 1, 3)
    const copies = [{ from: 0, to: 2, rows: 3 }]
    const { seen, machine } = scripted<DecodeEvent, DecodeEffect>({ start: [{ kind: 'copy_rows', id: 8, copies }] })
    createDecodeCore(machine, ports(), () => undefined).start()
    expect(seen.at(-1)).toMatchObject({ kind: 'copied', id: 8 })
    expect(kernels.filled(2, 1)).toBe(3)
  })
})

describe('prefill', () => {
  test('claim, retire, scrub, sweep, forward and send are done in the order given', () => {
    const table = { pages: one(2), owners: one(7), generations: one(1) }
    const { seen, machine } = scripted<PrefillEvent, PrefillEffect>({
      start: [
        claim,
        { kind: 'sweep', id: 1, table },
        { kind: 'retire', pages: one(2), scrub: 'tags' },
        { kind: 'sweep', id: 2, table },
        { kind: 'scrub', id: 3, pages: one(2) },
        { kind: 'forward', plan: { id: 6, sequences: [] } },
        { kind: 'send', message: { kind: 'prefilled', requestId: 'r', attempt: 1, cachedTokens: 0 } },
      ],
    })
    createPrefillCore(machine, ports()).start()
    expect(log).toEqual(['forward 6', 'send prefilled', 'idle'])
    expect(seen.slice(1)).toEqual([
      { kind: 'swept', id: 1, fault: null, now: 5 },
      { kind: 'swept', id: 2, fault: { page: 2, layer: 0 }, now: 5 },
      { kind: 'scrubbed', id: 3, now: 5 },
    ])
    expect(kernels.tag(2).owner).toBe(0)
  })

  test('a page is told as sent only once its bytes are out of the pool', () => {
    const frame = {
      kind: 'page',
      requestId: 'r',
      attempt: 1,
      lease: { id: 1, epoch: 1 },
      layer: 0,
      ordinal: 0,
      rows: 2,
    } as const
    const effect: PrefillEffect = {
      kind: 'send_page',
      id: 9,
      page: 2,
      tag: null,
      frame,
      lineageKey: LINEAGE,
      target: null,
    }
    const { seen, machine } = scripted<PrefillEvent, PrefillEffect>({ start: [effect], peer: [effect] })
    const core = createPrefillCore(machine, ports())
    core.start()
    expect(seen.map(({ kind }) => kind)).toEqual(['start'])
    const sizes: number[] = []
    core.linkUp({
      sendPage: (_frame, rows) => {
        sizes.push(rows.length)
        return true
      },
      sendManifest: () => true,
    })
    core.leaseClosed({ kind: 'lease_closed', lease: { id: 1, epoch: 1 } })
    expect(seen.map(({ kind }) => kind)).toEqual(['start', 'link_up', 'peer', 'page_sent'])
    expect(sizes).toEqual([kernels.rowBytes(2)])
  })
})
