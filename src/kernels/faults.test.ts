import { describe, expect, it } from 'vitest'
import { attentionCall } from './attention.ts'
import { instanceSettings, laneAt } from './configure.ts'
import { poolLayout } from './layout.ts'
import { instantiate } from './module.ts'
import { rotaryTable } from './rotary.ts'
import {
  ALL_CHECKS,
  append,
  bits,
  claimTable,
  feed,
  NO_CHECKS,
  outWidth,
  qkvWidth,
  randomFloats,
  shapeOf,
  THETA,
  testKernels,
  testPool,
} from './testing/fixtures.ts'
import type {
  AttentionFault,
  AttentionSequence,
  KernelChecks,
  KernelPageTable,
  PoolKernels,
  PoolMemory,
} from './types.ts'

const SHAPE = shapeOf({ layers: 2, pages: 16 })
const LAYER = 1
const CONTEXT = 20

interface Bench {
  readonly pool: PoolMemory
  readonly kernels: PoolKernels
  /** Tables over pages 0-1, 2-3, 4-5, twenty rows each. */
  readonly tables: readonly KernelPageTable[]
}

function bench(checks: KernelChecks = ALL_CHECKS): Bench {
  const pool = testPool(SHAPE)
  const kernels = testKernels(pool, checks)
  const random = randomFloats(1)
  const tables = [0, 1, 2].map((i) => {
    const table = claimTable(kernels, [2 * i, 2 * i + 1], i + 1)
    feed(kernels, SHAPE, table, random(CONTEXT * qkvWidth(SHAPE)), [CONTEXT], LAYER)
    return table
  })
  return { pool, kernels, tables }
}

/** One new row for each of the three sequences, the middle one perhaps replaced. */
function step(b: Bench, middle: Partial<AttentionSequence> = {}): { faults: AttentionFault[]; out: Float32Array } {
  const out = new Float32Array(3 * outWidth(SHAPE)).fill(7)
  const sequences = b.tables.map((table, i) => ({ ...append(table, CONTEXT, 1), ...(i === 1 ? middle : {}) }))
  const faults = b.kernels.attention(LAYER, sequences, randomFloats(2)(3 * qkvWidth(SHAPE)), out)
  return { faults, out }
}

/** Address of a page's block in layer 1, found by its first row. */
function blockAt(b: Bench, page: number): number {
  const bytes = Buffer.from(b.pool.memory.buffer)
  const row = new Uint8Array(b.kernels.rowBytes(1))
  b.kernels.readRows(page, LAYER, 1, row)
  return bytes.indexOf(row.subarray(0, 256))
}

const BLOCK_ROWS = 2 * SHAPE.kvHeads * SHAPE.pageSize * SHAPE.headDim * 4

const FAULTS: readonly {
  name: string
  fault: AttentionFault
  harm: (b: Bench) => Partial<AttentionSequence> | undefined
}[] = [
  {
    name: 'a page that went to another owner',
    fault: { sequence: 1, kind: 'page_tag', page: 2 },
    harm: ({ kernels }) =>
      void kernels.retag(Uint32Array.of(2), Uint32Array.of(8), Uint32Array.of(1), Uint32Array.of(0)),
  },
  {
    name: 'a page of an older generation',
    fault: { sequence: 1, kind: 'page_tag', page: 3 },
    harm: ({ kernels }) =>
      void kernels.retag(Uint32Array.of(3), Uint32Array.of(2), Uint32Array.of(2), Uint32Array.of(1)),
  },
  {
    name: 'a retired page, even if the table expects just the tag that stands there',
    fault: { sequence: 1, kind: 'page_tag', page: 2 },
    harm({ kernels, tables }) {
      kernels.retire(Uint32Array.of(2), 'tags')
      const { owner, generation } = kernels.tag(2)
      return { table: { ...tables[1]!, owners: Uint32Array.of(owner, 2), generations: Uint32Array.of(generation, 1) } }
    },
  },
  {
    name: 'a page outside the pool',
    fault: { sequence: 1, kind: 'page_tag', page: 0xfffffff0 },
    harm: ({ tables }) => ({ table: { ...tables[1]!, pages: Uint32Array.of(0xfffffff0, 3) } }),
  },
  {
    name: 'a table too short for its rows',
    fault: { sequence: 1, kind: 'page_tag', page: -1 },
    harm: ({ tables }) => {
      const { pages, owners, generations } = tables[1]!
      return { table: { pages: pages.slice(1), owners: owners.slice(1), generations: generations.slice(1) } }
    },
  },
  {
    name: 'a full page with a missing row',
    fault: { sequence: 1, kind: 'unfilled_row', page: 2 },
    harm: ({ kernels }) => void kernels.markFilled(2, LAYER, 15),
  },
  {
    name: 'a recomputed row that was never written',
    fault: { sequence: 1, kind: 'unfilled_row', page: 3 },
    harm: () => ({ write: 'recompute' }),
  },
  {
    name: 'a row written twice',
    fault: { sequence: 1, kind: 'write_order', page: 3 },
    harm: () => ({ start: CONTEXT - 1 }),
  },
  {
    name: 'a row that skips one',
    fault: { sequence: 1, kind: 'write_order', page: 3 },
    harm: () => ({ start: CONTEXT + 1 }),
  },
  {
    name: 'a guard row that a stray write hit in its last byte',
    fault: { sequence: 1, kind: 'guard_row', page: 2 },
    harm(b) {
      const at = blockAt(b, 2) + BLOCK_ROWS + 63
      const bytes = new Uint8Array(b.pool.memory.buffer)
      bytes[at] = bytes[at]! ^ 1
    },
  },
  {
    name: 'pages of one owner in the wrong order',
    fault: { sequence: 1, kind: 'guard_row', page: 7 },
    harm({ kernels }) {
      const table = claimTable(kernels, [6, 7], 2)
      for (const page of [6, 7]) kernels.markFilled(page, LAYER, page === 6 ? 4 : 16)
      return { table: { ...table, pages: Uint32Array.of(7, 6) } }
    },
  },
  {
    name: 'poison that slipped past every check',
    fault: { sequence: 1, kind: 'not_finite', page: 2 },
    harm: ({ kernels }) => kernels.writeRows(2, LAYER, 16, new Uint8Array(kernels.rowBytes(16)).fill(255)) as undefined,
  },
]

describe('a fault', () => {
  it('names no page where all numbers are finite, and a sum is not', () => {
    const b = bench()
    const wild = new Uint8Array(new Float32Array(b.kernels.rowBytes(16) / 4).fill(3e38).buffer)
    b.kernels.writeRows(2, LAYER, 16, wild)
    expect(step(b).faults).toEqual([{ sequence: 1, kind: 'not_finite', page: -1 }])
  })

  const clean = step(bench())

  it('is not reported where there is none', () => {
    expect(clean.faults).toEqual([])
  })

  it.each(FAULTS)('ends its own sequence alone: $name', ({ fault, harm }) => {
    const b = bench()
    const middle = harm(b)
    const filled = b.kernels.filled(3, LAYER)
    const { faults, out } = step(b, middle ?? {})
    expect(faults).toEqual([fault])
    const width = outWidth(SHAPE)
    expect(out.subarray(width, 2 * width).every((x) => x === 0)).toBe(true)
    expect(bits(out.subarray(0, width))).toEqual(bits(clean.out.subarray(0, width)))
    expect(bits(out.subarray(2 * width))).toEqual(bits(clean.out.subarray(2 * width)))
    // Poison is seen only in the result, when the row stands already.
    if (fault.kind !== 'not_finite') expect(b.kernels.filled(3, LAYER)).toBe(filled)
  })

  it('writes no byte of its sequence, also in a call longer than the staging of a lane', () => {
    const shape = shapeOf({ heads: 2, kvHeads: 1, headDim: 32, pages: 64 })
    const kernels = testKernels(testPool(shape))
    const table = claimTable(
      kernels,
      Array.from({ length: 40 }, (_, i) => i),
      1,
    )
    kernels.retire(Uint32Array.of(39), 'tags')
    const out = new Float32Array(640 * outWidth(shape)).fill(7)
    const faults = kernels.attention(0, [append(table, 0, 640)], randomFloats(1)(640 * qkvWidth(shape)), out)
    expect(faults).toEqual([{ sequence: 0, kind: 'page_tag', page: 39 }])
    expect(kernels.filled(0, 0)).toBe(0)
    const rows = new Uint8Array(kernels.rowBytes(16))
    kernels.readRows(0, 0, 16, rows)
    expect(rows.every((x) => x === 0)).toBe(true)
    expect(out.every((x) => x === 0)).toBe(true)
  })

  it('goes unseen with the checks off, and poison then shows as NaN', () => {
    const b = bench(NO_CHECKS)
    b.kernels.retire(Uint32Array.of(2), 'poison')
    const { faults, out } = step(b)
    expect(faults).toEqual([])
    expect(out.subarray(outWidth(SHAPE), 2 * outWidth(SHAPE)).every(Number.isNaN)).toBe(true)
    expect(out.subarray(0, outWidth(SHAPE)).some(Number.isNaN)).toBe(false)
  })

  it('is a page outside the pool, whatever the checks: there is no memory behind it', () => {
    for (const page of [SHAPE.pages, 0xfffffff0]) {
      const b = bench(NO_CHECKS)
      const { faults } = step(b, { table: { ...b.tables[1]!, pages: Uint32Array.of(2, page) } })
      expect(faults).toEqual([{ sequence: 1, kind: 'page_tag', page }])
    }
  })

  it.each([
    { only: 'tags', harm: ({ kernels }: Bench) => kernels.retire(Uint32Array.of(2), 'tags'), kind: 'page_tag' },
    { only: 'filled', harm: ({ kernels }: Bench) => kernels.retire(Uint32Array.of(2), 'tags'), kind: 'unfilled_row' },
    { only: 'guards', harm: ({ kernels }: Bench) => kernels.retire(Uint32Array.of(2), 'tags'), kind: 'guard_row' },
    { only: 'finite', harm: ({ kernels }: Bench) => kernels.retire(Uint32Array.of(2), 'poison'), kind: 'not_finite' },
  ])('of a freed page is seen by $only alone', ({ only, harm, kind }) => {
    const b = bench({ ...NO_CHECKS, [only]: true })
    harm(b)
    expect(step(b).faults.map((fault) => fault.kind)).toEqual([kind])
  })

  it.each([
    { kind: 'page_tag', harm: (k: PoolKernels) => k.retire(Uint32Array.of(2), 'poison') },
    { kind: 'unfilled_row', harm: (k: PoolKernels) => k.markFilled(2, LAYER, 15) },
  ])('is seen in a page that changes after it was judged and before it is read: $kind', ({ kind, harm }) => {
    const b = bench()
    const out = new Float32Array(3 * outWidth(SHAPE)).fill(7)
    const sequences = b.tables.map((table) => append(table, CONTEXT, 1))
    const attention = interrupted(b.pool, () => harm(b.kernels))
    const faults = attention(LAYER, sequences, randomFloats(2)(3 * qkvWidth(SHAPE)), out)
    expect(faults).toEqual([{ sequence: 1, kind, page: 2 }])
    const width = outWidth(SHAPE)
    expect(out.subarray(width, 2 * width).every((x) => x === 0)).toBe(true)
    expect(bits(out.subarray(0, width), out.subarray(2 * width))).toBe(
      bits(clean.out.subarray(0, width), clean.out.subarray(2 * width)),
    )
  })
})

/** Attention with all checks, as another thread would meet it that acts between the judging and the reading of pages. */
function interrupted(pool: PoolMemory, act: () => void): PoolKernels['attention'] {
  const layout = poolLayout(pool.shape)
  const rotary = rotaryTable({ ropeTheta: THETA, ropeDims: pool.shape.headDim })
  const wasm = instantiate(pool.memory)
  const settings = instanceSettings(pool, layout, 3, rotary.floats)
  wasm.configure(...settings.configure)
  wasm.useScratch(...settings.useScratch)
  const plan: typeof wasm.plan = (...job) => {
    const items = wasm.plan(...job)
    act()
    return items
  }
  return attentionCall({
    shape: pool.shape,
    layout,
    laneStart: laneAt(layout, 3),
    checks: ALL_CHECKS,
    rotary,
    wasm: { ...wasm, plan },
    memory: pool.memory,
    sharedFrom: Number.POSITIVE_INFINITY,
  })
}
