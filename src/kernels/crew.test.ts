import { afterEach, describe, expect, it } from 'vitest'
import { type AttentionCrew, openPool, startCrew } from './index.ts'
import {
  ALL_CHECKS,
  append,
  bits,
  claimTable,
  feed,
  outWidth,
  qkvWidth,
  randomFloats,
  scatter,
  shapeOf,
  THETA,
  testPool,
} from './testing/fixtures.ts'
import type { PoolKernels, PoolMemory } from './types.ts'

const SHAPE = shapeOf({ heads: 6, kvHeads: 2, pages: 512 })
const ROPE = { ropeTheta: THETA, ropeDims: SHAPE.headDim }

function open(pool: PoolMemory, lane: number): PoolKernels {
  return openPool(pool, { ...ROPE, lane, checks: ALL_CHECKS, sharedFrom: 1 })
}

describe('a crew of two', () => {
  let crew: AttentionCrew | undefined
  afterEach(async () => {
    await crew?.close()
    crew = undefined
  })

  it('gives the same bits as one thread, prefill and batched decode', async () => {
    const pool = testPool(SHAPE)
    crew = startCrew(pool, { ...ROPE, lane: 1, helperLane: 2 })
    await crew.ready
    expect(crew.active()).toBe(true)
    const [alone, shared] = [open(pool, 0), open(pool, 1)]
    const qkv = randomFloats(1)(700 * qkvWidth(SHAPE))
    const [a, b] = [claimTable(alone, scatter(0, 50, 2), 1), claimTable(alone, scatter(1, 50, 2), 2)]
    expect(bits(feed(shared, SHAPE, b, qkv, [300, 400]))).toBe(bits(feed(alone, SHAPE, a, qkv, [700])))

    const row = randomFloats(2)(32 * qkvWidth(SHAPE))
    for (let round = 0; round < 40; round++) {
      const sequences = Array.from({ length: 1 + (round % 32) }, (_, i) => ({
        ...append(round % 2 ? a : b, 660 + i, 1),
        write: 'recompute' as const,
      }))
      const outs = [alone, shared].map((kernels) => {
        const out = new Float32Array(sequences.length * outWidth(SHAPE))
        expect(kernels.attention(0, sequences, row, out)).toEqual([])
        return out
      })
      expect(bits(outs[1]!)).toBe(bits(outs[0]!))
    }
  })

  it('reports a fault once, for its own sequence', async () => {
    const pool = testPool(SHAPE)
    crew = startCrew(pool, { ...ROPE, lane: 0, helperLane: 7 })
    await crew.ready
    const kernels = open(pool, 0)
    const tables = [0, 1, 2].map((i) => claimTable(kernels, scatter(100 * i, 10, 1), i + 1))
    kernels.writeRows(tables[1]!.pages[3]!, 0, 16, new Uint8Array(kernels.rowBytes(16)).fill(255))
    kernels.markFilled(tables[1]!.pages[3]!, 0, 16)
    for (const table of tables) for (const page of table.pages) kernels.markFilled(page, 0, 16)
    const sequences = tables.map((table) => ({ table, start: 80, rows: 60, write: 'recompute' as const }))
    const out = new Float32Array(180 * outWidth(SHAPE))
    const faults = kernels.attention(0, sequences, randomFloats(3)(180 * qkvWidth(SHAPE)), out)
    expect(faults).toEqual([{ sequence: 1, kind: 'not_finite', page: tables[1]!.pages[3] }])
  })

  it('ends when it is closed, and attention goes on alone', async () => {
    const pool = testPool(SHAPE)
    const short = startCrew(pool, { ...ROPE, lane: 0, helperLane: 1 })
    await short.ready
    await short.close()
    await short.close()
    expect(short.active()).toBe(false)
    const kernels = open(pool, 0)
    const qkv = randomFloats(1)(100 * qkvWidth(SHAPE))
    const first = feed(kernels, SHAPE, claimTable(kernels, scatter(0, 7, 1), 1), qkv, [100])
    crew = startCrew(pool, { ...ROPE, lane: 0, helperLane: 1 })
    await crew.ready
    const second = feed(kernels, SHAPE, claimTable(kernels, scatter(10, 7, 1), 2), qkv, [100])
    expect(bits(second)).toBe(bits(first))
  })

  it('may be closed before it was ready', async () => {
    const early = startCrew(testPool(SHAPE), { ...ROPE, lane: 0, helperLane: 1 })
    await early.close()
    expect(early.active()).toBe(false)
  })

  it.each([
    [0, 0],
    [0, 8],
    [-1, 2],
  ])('refuses lanes %i and %i', (lane, helperLane) => {
    expect(() => startCrew(testPool(SHAPE), { ...ROPE, lane, helperLane })).toThrow(
      expect.objectContaining({ code: 'bad_call' }),
    )
  })
})
