import { describe, expect, it } from 'vitest'
import { createPool, KernelsError, kvBytesPerToken, largestPool, openPool, poolBytes } from './index.ts'
import {
  ALL_CHECKS,
  bits,
  claimTable,
  feed,
  NO_CHECKS,
  qkvWidth,
  randomFloats,
  shapeOf,
  testKernels,
  testPool,
} from './testing/fixtures.ts'

const KEY = BigUint64Array.of(1n, 2n)

describe('pages', () => {
  const shape = shapeOf({ pages: 8, layers: 3 })

  it('are claimed with tag and guard rows and no rows, and retired to nobody', () => {
    const kernels = testKernels(testPool(shape))
    const table = claimTable(kernels, [4, 2], 6, 9)
    expect(kernels.tag(4)).toEqual({ owner: 6, generation: 9 })
    expect(kernels.checkGuards(table)).toBeNull()
    kernels.markFilled(4, 2, 7)
    expect([0, 1, 2].map((layer) => kernels.filled(4, layer))).toEqual([0, 0, 7])
    kernels.retire(table.pages, 'tags')
    expect(kernels.tag(4)).toEqual({ owner: 0, generation: 9 })
    expect(kernels.filled(4, 2)).toBe(0)
    expect(kernels.checkGuards(table)).toEqual({ page: 4, layer: 0 })
  })

  it('change hands with their rows', () => {
    const kernels = testKernels(testPool(shape))
    const table = claimTable(kernels, [4, 2], 6)
    kernels.markFilled(2, 1, 5)
    kernels.retag(Uint32Array.of(2), Uint32Array.of(77), Uint32Array.of(8), Uint32Array.of(1))
    expect(kernels.tag(2)).toEqual({ owner: 77, generation: 8 })
    expect(kernels.filled(2, 1)).toBe(5)
    expect(kernels.checkGuards(table)).toEqual({ page: 2, layer: 0 })
    expect(kernels.checkGuards(table, 1)).toBeNull()
  })

  it.each([
    ['tags', (data: Uint8Array, was: Uint8Array) => expect(data).toEqual(was)],
    ['zero', (data: Uint8Array) => expect(data.every((x) => x === 0)).toBe(true)],
    ['poison', (data: Uint8Array) => expect(new Float32Array(data.buffer).every(Number.isNaN)).toBe(true)],
  ] as const)('are scrubbed as asked, and no byte further: %s', (scrub, judge) => {
    const kernels = testKernels(testPool(shape))
    const neighbours = claimTable(kernels, [1, 3], 1)
    const size = kernels.rowBytes(16)
    const data = new Uint8Array(randomFloats(1)(size / 4).buffer)
    for (const page of [1, 2, 3]) for (let layer = 0; layer < 3; layer++) kernels.writeRows(page, layer, 16, data)
    kernels.retire(Uint32Array.of(2), scrub)
    const read = new Uint8Array(size)
    for (let layer = 0; layer < 3; layer++) {
      kernels.readRows(2, layer, 16, read)
      judge(read, data)
      for (const page of [1, 3]) {
        kernels.readRows(page, layer, 16, read)
        expect(read).toEqual(data)
      }
    }
    expect(kernels.checkGuards(neighbours)).toBeNull()
  })

  it.each([0, 1, 5, 16])('give and take %i rows, K of all heads before V, and no row more', (rows) => {
    const kernels = testKernels(testPool(shape))
    const before = new Uint8Array(kernels.rowBytes(16)).fill(9)
    kernels.writeRows(3, 1, 16, before)
    const data = new Uint8Array(randomFloats(2)(kernels.rowBytes(rows) / 4).buffer)
    kernels.writeRows(3, 1, rows, data)
    const read = new Uint8Array(kernels.rowBytes(rows))
    kernels.readRows(3, 1, rows, read)
    expect(read).toEqual(data)
    const whole = new Uint8Array(kernels.rowBytes(16))
    kernels.readRows(3, 1, 16, whole)
    expect(whole.filter((x, i) => Math.floor(i / 256) % 16 >= rows && x !== 9).length).toBe(0)
    expect(kernels.rowBytes(rows)).toBe(rows * 2 * 2 * 64 * 4)
  })

  it('copy their first rows in every layer, and count no row that the source lacks', () => {
    const kernels = testKernels(testPool(shape))
    const table = claimTable(kernels, [6], 1)
    const rows = [5, 16, 3]
    for (const [layer, count] of rows.entries()) {
      kernels.writeRows(5, layer, 16, new Uint8Array(kernels.rowBytes(16)).fill(layer + 1))
      kernels.markFilled(5, layer, count)
    }
    kernels.copyRows(5, 6, 5)
    const read = new Uint8Array(kernels.rowBytes(16))
    for (let layer = 0; layer < 3; layer++) {
      expect(kernels.filled(6, layer)).toBe(Math.min(5, rows[layer]!))
      kernels.readRows(6, layer, 16, read)
      expect(read.filter((x) => x === layer + 1).length).toBe(kernels.rowBytes(5))
      expect(read.filter((x) => x === 0).length).toBe(kernels.rowBytes(11))
    }
    expect(kernels.checkGuards(table)).toBeNull()
  })

  it('show every byte of a broken guard row, and nothing with the check off', () => {
    const pool = testPool(shape)
    const kernels = testKernels(pool)
    const table = claimTable(kernels, [7], 3)
    const bytes = new Uint8Array(pool.memory.buffer)
    // The last page of the last layer: its guard row ends the pool.
    const end = poolEnd(bytes)
    for (let i = 1; i <= 64; i++) {
      bytes[end - i]! ^= 16
      expect(kernels.checkGuards(table)).toEqual({ page: 7, layer: 2 })
      expect(testKernels(pool, NO_CHECKS, 1).checkGuards(table)).toBeNull()
      bytes[end - i]! ^= 16
    }
    expect(kernels.checkGuards(table)).toBeNull()
    expect(testKernels({ ...pool, key: KEY }).checkGuards(table)).toEqual({ page: 7, layer: 0 })
  })

  it.each([
    ['a page outside the pool', (k: ReturnType<typeof testKernels>) => k.filled(8, 0)],
    ['a layer outside the model', (k: ReturnType<typeof testKernels>) => k.filled(0, 3)],
    ['more rows than a page has', (k: ReturnType<typeof testKernels>) => k.markFilled(0, 0, 17)],
    ['bytes that are not the rows', (k: ReturnType<typeof testKernels>) => k.writeRows(0, 0, 2, new Uint8Array(4))],
    ['a claim outside the pool', (k: ReturnType<typeof testKernels>) => claimTable(k, [8], 1)],
    ['a claim for nobody', (k: ReturnType<typeof testKernels>) => claimTable(k, [1], 0)],
    ['a copy outside the pool', (k: ReturnType<typeof testKernels>) => k.copyRows(0, 8, 1)],
    [
      'too small buffers',
      (k: ReturnType<typeof testKernels>) =>
        k.attention(
          0,
          [{ table: claimTable(k, [1], 1), start: 0, rows: 1, write: 'append' }],
          new Float32Array(4),
          new Float32Array(4),
        ),
    ],
  ])('refuse %s', (_, call) => {
    expect(() => call(testKernels(testPool(shape)))).toThrow(KernelsError)
  })
})

/** Address after the last guard row: the last byte that is not 0, rounded up. */
function poolEnd(bytes: Uint8Array): number {
  let end = bytes.length
  while (bytes[end - 1] === 0) end--
  return Math.ceil(end / 64) * 64
}

describe('a pool', () => {
  it.each([
    { pageSize: 6 },
    { pageSize: 256 },
    { pageSize: 2 },
    { headDim: 30 },
    { heads: 5, kvHeads: 2 },
    { pages: 0 },
    { layers: 1.5 },
  ])('refuses a shape it cannot serve: %o', (numbers) => {
    expect(() => createPool(shapeOf(numbers), KEY)).toThrow(expect.objectContaining({ code: 'bad_shape' }))
  })

  it('says how large the largest one is, and that one fits', () => {
    const shape = shapeOf({ layers: 24, heads: 14, kvHeads: 2 })
    expect(kvBytesPerToken(shape)).toBe(24 * 2 * 2 * 64 * 4)
    const largest = largestPool(shape)
    expect(largest).toBeGreaterThan(10_000)
    expect(poolBytes({ ...shape, pages: largest })).toBeLessThan(2 ** 32)
    expect(() => createPool({ ...shape, pages: largest + 1 }, KEY)).toThrow(
      expect.objectContaining({ code: 'pool_too_large', details: { pages: largest + 1, largest } }),
    )
  })

  it('refuses a lane or a rotary width that is out of range', () => {
    const pool = createPool(shapeOf({}), KEY)
    for (const wrong of [{ lane: 8 }, { lane: -1 }, { ropeDims: 65 }, { ropeDims: 128 }]) {
      const options = { lane: 0, checks: ALL_CHECKS, ropeTheta: 1e4, ropeDims: 64, ...wrong }
      expect(() => openPool(pool, options)).toThrow(expect.objectContaining({ code: 'bad_call' }))
    }
  })

  it('computes the same below and above 2 GiB', () => {
    const shape = shapeOf({ pages: 60_000, layers: 4, heads: 4, kvHeads: 2 })
    expect(poolBytes(shape)).toBeGreaterThan(3.6 * 2 ** 30)
    const pool = testPool(shape)
    const kernels = testKernels(pool)
    const qkv = randomFloats(4)(40 * qkvWidth(shape))
    const low = feed(kernels, shape, claimTable(kernels, [0, 1, 2], 1), qkv, [40], 0)
    const table = claimTable(kernels, [59_999, 30_000, 2], 2)
    const high = feed(kernels, shape, table, qkv, [33, 7], 3)
    expect(bits(high)).toBe(bits(low))
    expect(kernels.checkGuards(table)).toBeNull()
    const lineage = new Uint8Array(32).fill(3)
    expect(kernels.seal(59_999, 3, 16, lineage)).toEqual(kernels.seal(59_999, 3, 16, lineage))
    const [a, b] = [new Uint8Array(kernels.rowBytes(16)), new Uint8Array(kernels.rowBytes(16))]
    kernels.readRows(0, 0, 16, a)
    kernels.readRows(59_999, 3, 16, b)
    expect(Buffer.compare(a, b)).toBe(0)
    kernels.retire(Uint32Array.of(59_999), 'poison')
    kernels.readRows(59_999, 3, 16, b)
    expect(b.every((x) => x === 255)).toBe(true)
    // Nothing wrapped around to the pool's start.
    kernels.readRows(0, 0, 16, b)
    expect(Buffer.compare(a, b)).toBe(0)
  })
})
