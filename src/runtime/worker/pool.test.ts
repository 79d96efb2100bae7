import { beforeEach, describe, expect, test } from 'vitest'
import type { PageFrame, SendPageEffect } from '../../cluster/index.ts'
import { createPool, openPool, type PoolKernels } from '../../kernels/index.ts'
import { createGuardBook } from './guard-book.ts'
import { Outbound } from './outbound.ts'
import type { PageSink } from './ports.ts'

const SHAPE = { pages: 8, pageSize: 4, layers: 2, heads: 1, kvHeads: 1, headDim: 4 }
const CHECKS = { tags: true, filled: true, guards: true }
let kernels: PoolKernels

beforeEach(() => {
  const pool = createPool(SHAPE, new BigUint64Array([3n, 5n]))
  kernels = openPool(pool, { lane: 0, checks: CHECKS, ropeTheta: 10_000, ropeDims: 4 })
})

describe('sweep over held pages', () => {
  const claim = (pages: number[], owner: number, ordinals: number[]): void => {
    const owners = Uint32Array.from(pages, () => owner)
    kernels.claim(Uint32Array.from(pages), owners, owners, Uint32Array.from(ordinals))
    book.claimed(Uint32Array.from(pages), Uint32Array.from(ordinals))
  }
  const table = (held: [page: number, owner: number][]) => ({
    pages: Uint32Array.from(held, ([page]) => page),
    owners: Uint32Array.from(held, ([, owner]) => owner),
    generations: Uint32Array.from(held, ([, owner]) => owner),
  })
  let book: ReturnType<typeof createGuardBook>
  beforeEach(() => {
    book = createGuardBook(kernels, SHAPE.pages)
    // Two sequences share page 6 and have their own tails in the same place; another owner's pages lie between.
    claim([6, 1, 3], 9, [0, 1, 1])
    claim([7, 0], 4, [0, 1])
  })

  test('pages of several tables, in the order of the pool, are all in order', () => {
    expect(
      book.sweep(
        table([
          [0, 4],
          [1, 9],
          [3, 9],
          [6, 9],
          [7, 4],
        ]),
      ),
    ).toBeNull()
  })

  test('a page of another owner or in another place is found', () => {
    expect(
      book.sweep(
        table([
          [7, 4],
          [3, 4],
        ]),
      ),
    ).toEqual({ page: 3, layer: 0 })
    book.claimed(Uint32Array.of(1), Uint32Array.of(0))
    expect(book.sweep(table([[1, 9]]))).toEqual({ page: 1, layer: 0 })
  })
})

describe('pages on their way out', () => {
  const frame: Omit<PageFrame, 'seal'> = {
    kind: 'page',
    requestId: 'r',
    attempt: 1,
    lease: { id: 1, epoch: 1 },
    layer: 0,
    ordinal: 0,
    rows: 4,
  }
  const effect = (id: number, change: Partial<SendPageEffect> = {}): SendPageEffect => ({
    kind: 'send_page',
    id,
    page: 2,
    tag: null,
    frame,
    lineageKey: new Uint8Array(32).fill(1),
    target: null,
    ...change,
  })
  const manifest = { kind: 'send_manifest', frame: { kind: 'manifest' } } as never
  const fill = (value: number): void => {
    kernels.writeRows(2, 0, 4, new Uint8Array(kernels.rowBytes(4)).fill(value))
  }
  interface TestSink extends PageSink {
    readonly log: string[]
    readonly held: (() => void)[]
    readonly buffers: Set<ArrayBufferLike>
    room: number
  }
  const sinkOf = (room: number): TestSink => {
    const sink: TestSink = {
      log: [],
      held: [],
      buffers: new Set(),
      room,
      sendPage: (sent: PageFrame, rows: Uint8Array, written: () => void) => {
        sink.held.push(written)
        sink.buffers.add(rows.buffer)
        sink.log.push(`page ${rows[0]} ${sent.seal.some((byte) => byte !== 0) ? 'sealed' : 'plain'}`)
        sink.room -= 1
        return sink.room > 0
      },
      sendManifest: () => {
        sink.log.push('manifest')
        return sink.room > 0
      },
    }
    return sink
  }

  test('order is kept, and each page is told once it is copied', () => {
    const sent: number[] = []
    const sink = sinkOf(9)
    const outbound = new Outbound(kernels, SHAPE.pageSize, (id) => sent.push(id))
    outbound.up(sink)
    fill(1)
    outbound.push(effect(1))
    fill(2)
    outbound.push(effect(2, { lineageKey: null }))
    outbound.push(manifest)
    expect(sink.log).toEqual(['page 1 sealed', 'page 2 plain', 'manifest'])
    expect(sent).toEqual([1, 2])
  })

  test('under back-pressure a page stays in the pool, unsent, until the channel drains', () => {
    const sent: number[] = []
    const sink = sinkOf(1)
    const outbound = new Outbound(kernels, SHAPE.pageSize, (id) => sent.push(id))
    outbound.up(sink)
    fill(1)
    outbound.push(effect(1))
    outbound.push(effect(2))
    outbound.push(manifest)
    expect([sink.log.length, sent]).toEqual([1, [1]])
    fill(3)
    sink.room = 9
    outbound.drained()
    expect(sink.log).toEqual(['page 1 sealed', 'page 3 sealed', 'manifest'])
    expect(sent).toEqual([1, 2])
  })

  test('a page that is another\u2019s by now, or whose rows do not stand, is not sent', () => {
    const sent: (string | undefined)[] = []
    const sink = sinkOf(9)
    const outbound = new Outbound(kernels, SHAPE.pageSize, (_id, fault) => sent.push(fault))
    outbound.up(sink)
    const [page, owner, generation, ordinal] = [2, 7, 3, 0].map((word) => Uint32Array.of(word))
    kernels.claim(page!, owner!, generation!, ordinal!)
    fill(1)
    outbound.push(effect(1, { tag: { owner: 7, generation: 3 } }))
    kernels.markFilled(2, 0, 4)
    outbound.push(effect(2, { tag: { owner: 7, generation: 2 } }))
    outbound.push(effect(3, { tag: { owner: 8, generation: 3 } }))
    expect(sink.log).toEqual([])
    outbound.push(effect(4, { tag: { owner: 7, generation: 3 } }))
    expect(sent).toEqual(['unfilled_row', 'page_tag', 'page_tag', undefined])
    expect(sink.log).toEqual(['page 1 sealed'])
  })

  test('a buffer is used again once it is written, and not before', () => {
    const sink = sinkOf(99)
    const outbound = new Outbound(kernels, SHAPE.pageSize, () => undefined)
    outbound.up(sink)
    outbound.push(effect(1))
    outbound.push(effect(2))
    expect(sink.buffers.size).toBe(2)
    for (const written of sink.held) written()
    outbound.push(effect(3))
    outbound.push(effect(4))
    expect(sink.buffers.size).toBe(2)
  })

  test('what waits when the channel goes is neither sent later nor told', () => {
    const sent: number[] = []
    const first = sinkOf(1)
    const outbound = new Outbound(kernels, SHAPE.pageSize, (id) => sent.push(id))
    outbound.up(first)
    outbound.push(effect(1))
    outbound.push(effect(2))
    outbound.down()
    outbound.push(effect(3))
    const second = sinkOf(9)
    outbound.up(second)
    outbound.drained()
    expect([second.log, sent]).toEqual([[], [1]])
  })
})
