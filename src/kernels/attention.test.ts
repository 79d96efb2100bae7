import { describe, expect, it } from 'vitest'
import {
  bits,
  claimTable,
  feed,
  outWidth,
  qkvWidth,
  randomFloats,
  scatter,
  shapeOf,
  THETA,
  testKernels,
  testPool,
} from './testing/fixtures.ts'
import { type ReferenceCache, referenceAttention } from './testing/reference.ts'

const SHAPES = [
  { name: 'head width 64, 7 queries per KV head', heads: 7, kvHeads: 1, headDim: 64, pageSize: 16, rows: 300 },
  { name: 'head width 64, no grouping', heads: 3, kvHeads: 3, headDim: 64, pageSize: 16, rows: 150 },
  { name: 'head width 128, 2 queries per KV head', heads: 4, kvHeads: 2, headDim: 128, pageSize: 32, rows: 140 },
  { name: 'head width 32, pages of 4', heads: 4, kvHeads: 1, headDim: 32, pageSize: 4, rows: 270 },
  { name: 'head width 32, pages of a whole block', heads: 2, kvHeads: 2, headDim: 32, pageSize: 128, rows: 130 },
  { name: 'head width 20', heads: 6, kvHeads: 2, headDim: 20, pageSize: 8, rows: 135 },
  { name: 'more queries per KV head than an item takes', heads: 40, kvHeads: 1, headDim: 12, pageSize: 16, rows: 20 },
]

describe('attention', () => {
  it.each(SHAPES)('agrees with double precision: $name', ({ rows, ...numbers }) => {
    const shape = shapeOf({ ...numbers, pages: 80 })
    const kernels = testKernels(testPool(shape))
    const qkv = randomFloats(7)(rows * qkvWidth(shape)).map((x) => x * 2)
    const pages = Math.ceil(rows / shape.pageSize)
    const table = claimTable(kernels, scatter(1, pages, Math.max(1, Math.floor(79 / pages))), 9)
    const out = feed(kernels, shape, table, qkv, [rows])
    const cache: ReferenceCache = { keys: [], values: [] }
    let worst = 0
    for (let row = 0; row < rows; row++) {
      const exact = referenceAttention(
        shape,
        cache,
        qkv.subarray(row * qkvWidth(shape)).subarray(0, qkvWidth(shape)),
        row,
        THETA,
        shape.headDim,
      )
      let error = 0
      let size = 0
      exact.forEach((x, i) => {
        error += (x - out[row * outWidth(shape) + i]!) ** 2
        size += x * x
      })
      worst = Math.max(worst, Math.sqrt(error / size))
    }
    expect(worst).toBeLessThan(1e-5)
  })

  it('writes K rotated and V as given, and recompute gives the same bits without writing', () => {
    const shape = shapeOf({ layers: 2 })
    const kernels = testKernels(testPool(shape))
    const table = claimTable(kernels, [5, 3], 9)
    const qkv = randomFloats(3)(20 * qkvWidth(shape))
    const out = feed(kernels, shape, table, qkv, [20], 1)
    expect([kernels.filled(5, 1), kernels.filled(3, 1), kernels.filled(5, 0)]).toEqual([16, 4, 0])
    const before = new Uint8Array(kernels.rowBytes(16))
    kernels.readRows(3, 1, 16, before)
    const again = new Float32Array(outWidth(shape))
    const last = qkv.slice(19 * qkvWidth(shape))
    // K and V of a recomputed row come from the pool, not from the call.
    last.fill(Number.NaN, outWidth(shape))
    expect(kernels.attention(1, [{ table, start: 19, rows: 1, write: 'recompute' }], last, again)).toEqual([])
    expect(bits(again)).toEqual(bits(out.subarray(19 * outWidth(shape))))
    const after = new Uint8Array(kernels.rowBytes(16))
    kernels.readRows(3, 1, 16, after)
    expect(after).toEqual(before)
    const values = new Float32Array(after.buffer).subarray(shape.kvHeads * 16 * 64)
    expect(bits(values.slice(64 * 3, 64 * 4))).toEqual(bits(qkv.slice(19 * qkvWidth(shape)).slice(6 * 64, 7 * 64)))
  })
})
