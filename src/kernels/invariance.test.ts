import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  append,
  bits,
  claimTable,
  feed,
  outWidth,
  qkvWidth,
  randomFloats,
  scatter,
  shapeOf,
  testKernels,
  testPool,
} from './testing/fixtures.ts'
import type { AttentionSequence, KernelShape, PoolKernels } from './types.ts'

const SHAPES: readonly Partial<KernelShape>[] = [
  { heads: 7, kvHeads: 1, headDim: 64 },
  { heads: 4, kvHeads: 4, headDim: 64, pageSize: 4 },
  { heads: 6, kvHeads: 2, headDim: 128, pageSize: 32 },
  { heads: 5, kvHeads: 1, headDim: 32, pageSize: 8 },
  { heads: 4, kvHeads: 2, headDim: 24 },
]

function chunksOf(rows: number, ...sizes: number[]): number[] {
  const chunks: number[] = []
  for (let i = 0, left = rows; left > 0; i++) {
    const size = Math.min(left, sizes[i % sizes.length]!)
    chunks.push(size)
    left -= size
  }
  return chunks
}

describe('a row has the same bits', () => {
  it.each(SHAPES)('whole, in chunks, and token by token: %o', (numbers) => {
    const rows = 277
    const shape = shapeOf({ ...numbers, pages: 400 })
    const qkv = randomFloats(11)(rows * qkvWidth(shape))
    const pages = Math.ceil(rows / shape.pageSize)
    const kernels = testKernels(testPool(shape))
    const whole = feed(kernels, shape, claimTable(kernels, scatter(0, pages, 3), 1), qkv, [rows])
    for (const [i, sizes] of [[256, 44], [16, 100, 1, 1, 182], [1], [3, 130, 2]].entries()) {
      const table = claimTable(kernels, scatter(1 + (i % 2), pages, 3), 2 + i)
      expect(bits(feed(kernels, shape, table, qkv, chunksOf(rows, ...sizes)))).toEqual(bits(whole))
    }
  })

  it('in any shape, table and chunking', () => {
    const shapes = fc.record({
      kvHeads: fc.constantFrom(1, 2, 3),
      group: fc.integer({ min: 1, max: 9 }),
      headDim: fc.constantFrom(4, 32, 36, 64, 128),
      pageSize: fc.constantFrom(4, 8, 16, 32, 64, 128),
    })
    const chunks = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(shapes, chunks, fc.integer(), ({ kvHeads, group, headDim, pageSize }, sizes, seed) => {
        const rows = sizes.reduce((sum, size) => sum + size, 0)
        const pages = Math.ceil(rows / pageSize)
        const shape = shapeOf({ heads: kvHeads * group, kvHeads, headDim, pageSize, pages: 2 * pages })
        const kernels = testKernels(testPool(shape))
        const qkv = randomFloats(seed)(rows * qkvWidth(shape))
        const whole = feed(kernels, shape, claimTable(kernels, scatter(0, pages, 2), 1), qkv, [rows])
        const parts = feed(kernels, shape, claimTable(kernels, scatter(1, pages, 2), 2), qkv, sizes)
        expect(bits(parts)).toBe(bits(whole))
      }),
      { numRuns: 40 },
    )
  })

  it('a call longer than the staging of a lane', () => {
    const rows = 1100
    const shape = shapeOf({ heads: 2, kvHeads: 1, headDim: 32, pages: 200 })
    const qkv = randomFloats(12)(rows * qkvWidth(shape))
    const kernels = testKernels(testPool(shape))
    const whole = feed(kernels, shape, claimTable(kernels, scatter(0, 69, 2), 1), qkv, [rows])
    const parts = feed(kernels, shape, claimTable(kernels, scatter(1, 69, 2), 2), qkv, chunksOf(rows, 333))
    expect(bits(parts)).toEqual(bits(whole))
  })

  it.each([1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 63, 64])(
    'alone and in a batch of %i, decode and prefill mixed',
    (batch) => {
      const shape = shapeOf({ heads: 7, kvHeads: 1, headDim: 64, pages: 2048 })
      const kernels = testKernels(testPool(shape))
      const random = randomFloats(batch)
      const contexts = Array.from({ length: batch }, (_, i) => [127, 128, 129, 1, 15, 16, 17, 40][(i * 5 + batch) % 8]!)
      const news = Array.from({ length: batch }, (_, i) => (i % 7 === 6 ? 19 : 1))
      const feeds = contexts.map((context, i) => random((context + news[i]!) * qkvWidth(shape)))

      const build = (from: number, owner: number): AttentionSequence[] =>
        contexts.map((context, i) => {
          const table = claimTable(kernels, scatter(from + i * 10, 10, 1), owner + i)
          feed(kernels, shape, table, feeds[i]!.subarray(0, context * qkvWidth(shape)), [context])
          return append(table, context, news[i]!)
        })
      const fresh = feeds.map((qkv, i) => qkv.subarray(contexts[i]! * qkvWidth(shape)))

      const together = step(kernels, shape, build(0, 1), fresh)
      const alone = build(1000, 1000).map((sequence, i) => step(kernels, shape, [sequence], [fresh[i]!]))
      expect(bits(together)).toEqual(bits(...alone))
    },
  )

  it('whatever stands in pages and rows that are not its own', () => {
    const shape = shapeOf({ pages: 8 })
    const kernels = testKernels(testPool(shape))
    const qkv = randomFloats(5)(21 * qkvWidth(shape))
    const clean = feed(kernels, shape, claimTable(kernels, [0, 1], 1), qkv, [20, 1])
    kernels.retire(Uint32Array.of(2, 3), 'poison')
    const dirty = feed(kernels, shape, claimTable(kernels, [2, 3], 2), qkv, [20, 1])
    expect(bits(dirty)).toEqual(bits(clean))
  })

  it('even when a later row of the same chunk is not finite', () => {
    const shape = shapeOf({ heads: 4, kvHeads: 4, pages: 8 })
    const kernels = testKernels(testPool(shape), { tags: true, filled: true, guards: true, finite: false })
    const qkv = randomFloats(6)(22 * qkvWidth(shape))
    const clean = feed(kernels, shape, claimTable(kernels, [0, 1], 1), qkv, [22])
    qkv.fill(Number.NaN, 21 * qkvWidth(shape))
    const dirty = feed(kernels, shape, claimTable(kernels, [2, 3], 2), qkv, [22])
    expect(bits(dirty.subarray(0, 21 * outWidth(shape)))).toEqual(bits(clean.subarray(0, 21 * outWidth(shape))))
    expect(dirty.subarray(21 * outWidth(shape)).every(Number.isNaN)).toBe(true)
  })
})

function step(
  kernels: PoolKernels,
  shape: KernelShape,
  sequences: readonly AttentionSequence[],
  parts: readonly Float32Array[],
): Float32Array {
  const rows = sequences.reduce((sum, sequence) => sum + sequence.rows, 0)
  const qkv = new Float32Array(rows * qkvWidth(shape))
  let at = 0
  for (const part of parts) {
    qkv.set(part, at)
    at += part.length
  }
  const out = new Float32Array(rows * outWidth(shape))
  expect(kernels.attention(0, sequences, qkv, out)).toEqual([])
  return out
}
