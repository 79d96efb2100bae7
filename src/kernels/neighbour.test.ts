import { describe, expect, it } from 'vitest'
import { createPools, jointLayout, largestPair, openNeighbour, openPool, poolBytes, startCrew } from './index.ts'
import {
  ALL_CHECKS,
  bits,
  claimTable,
  feed,
  qkvWidth,
  randomFloats,
  shapeOf,
  THETA,
  testPool,
} from './testing/fixtures.ts'
import type { PoolKernels, PoolMemory } from './types.ts'

const SHAPE = shapeOf({ layers: 2, pages: 40 })
const LINEAGE = new Uint8Array(32).fill(4)
const SEAL_KEY = new Uint8Array(32).fill(6)

const pair = (prefill = SHAPE, decode = SHAPE): readonly [PoolMemory, PoolMemory] => {
  const [one, other] = createPools([
    { shape: prefill, key: BigUint64Array.of(1n, 2n), sealKey: SEAL_KEY },
    { shape: decode, key: BigUint64Array.of(3n, 4n), sealKey: SEAL_KEY },
  ])
  return [one!, other!]
}
const open = (pool: PoolMemory, lane = 0): PoolKernels =>
  openPool(pool, { lane, checks: ALL_CHECKS, ropeTheta: THETA, ropeDims: 64 })

/** Every page full of bytes of its own, tagged and filled. */
const occupy = (pool: PoolMemory, owner: number): string => {
  const kernels = open(pool)
  const { pages, pageSize, layers } = pool.shape
  claimTable(kernels, [...Array(pages).keys()], owner)
  for (let page = 0; page < pages; page++) {
    for (let layer = 0; layer < layers; layer++) {
      const rows = new Float32Array(randomFloats(owner + page * layers + layer)(kernels.rowBytes(pageSize) / 4))
      kernels.writeRows(page, layer, pageSize, new Uint8Array(rows.buffer))
      kernels.markFilled(page, layer, pageSize)
    }
  }
  return fingerprint(pool)
}

const fingerprint = (pool: PoolMemory): string => {
  const kernels = open(pool)
  const { pages, pageSize, layers } = pool.shape
  const rows = new Uint8Array(kernels.rowBytes(pageSize))
  const parts: Float32Array[] = []
  for (let page = 0; page < pages; page++) {
    const { owner, generation } = kernels.tag(page)
    for (let layer = 0; layer < layers; layer++) {
      kernels.readRows(page, layer, pageSize, rows)
      parts.push(new Float32Array(rows.slice().buffer), Float32Array.of(owner, generation, kernels.filled(page, layer)))
    }
  }
  return bits(...parts)
}

describe('two pools in one memory', () => {
  it('do not touch each other, whatever is done to either', () => {
    const [prefill, decode] = pair(SHAPE, { ...SHAPE, pages: 30 })
    const before = [occupy(prefill, 3), occupy(decode, 5)]
    const kernels = open(prefill)
    kernels.retire(
      Uint32Array.from({ length: 40 }, (_, page) => page),
      'poison',
    )
    feed(kernels, SHAPE, claimTable(kernels, [4, 9, 1], 8), randomFloats(1)(40 * qkvWidth(SHAPE)), [40])
    expect(fingerprint(decode)).toBe(before[1])
    open(decode).retire(
      Uint32Array.from({ length: 30 }, (_, page) => page),
      'zero',
    )
    const [again] = [occupy(prefill, 3)]
    expect(again).toBe(before[0])
  })

  it('give the bits that a pool alone gives, with a helper too', async () => {
    const [prefill, decode] = pair()
    const qkv = randomFloats(2)(300 * qkvWidth(SHAPE))
    const out = (kernels: PoolKernels): string =>
      bits(feed(kernels, SHAPE, claimTable(kernels, [...Array(20).keys()], 1), qkv, [200, 100]))
    const alone = out(open(testPool(SHAPE)))
    const crew = startCrew(decode, { ropeDims: 64, lane: 1, helperLane: 2 })
    await crew.ready
    expect(out(open(prefill))).toBe(alone)
    const shared = openPool(decode, { lane: 1, checks: ALL_CHECKS, ropeTheta: THETA, ropeDims: 64, sharedFrom: 1 })
    expect(out(shared)).toBe(alone)
    await crew.close()
  })

  it('must fit together', () => {
    const shape = shapeOf({ layers: 24, kvHeads: 2, headDim: 64 })
    const pages = largestPair(shape)
    expect(2 * poolBytes({ ...shape, pages })).toBeLessThanOrEqual(65_535 * 65_536)
    expect(
      jointLayout([
        { ...shape, pages },
        { ...shape, pages },
      ]).bases,
    ).toEqual([0, poolBytes({ ...shape, pages })])
    const tooMany = { ...shape, pages: pages + 1 }
    expect(() => jointLayout([tooMany, tooMany])).toThrow(expect.objectContaining({ code: 'pool_too_large' }))
    expect(() => createPools([tooMany, tooMany].map((one) => ({ shape: one, key: new BigUint64Array(2) })))).toThrow(
      expect.objectContaining({ code: 'pool_too_large' }),
    )
    // One of them alone would do.
    expect(jointLayout([tooMany]).bases).toEqual([0])
  })
})

describe('rows stored into a neighbour', () => {
  it.each([16, 5, 1])('%i rows arrive bit for bit, and nothing else of the page changes', (rows) => {
    const [prefill, decode] = pair()
    occupy(prefill, 3)
    occupy(decode, 5)
    const [from, to] = [open(prefill), open(decode)]
    const seal = from.seal(7, 1, rows, LINEAGE)
    const read = (kernels: PoolKernels, page: number, layer: number, count = 16): Uint8Array => {
      const into = new Uint8Array(kernels.rowBytes(count))
      kernels.readRows(page, layer, count, into)
      return into
    }
    const others = [read(to, 11, 0), read(to, 10, 1), read(to, 12, 1)]
    const expected = open(testPool(SHAPE))
    expected.writeRows(0, 1, 16, read(to, 11, 1))
    expected.writeRows(0, 1, rows, read(from, 7, 1, rows))
    openNeighbour(prefill, decode).storeRows(7, 1, rows, 11)
    expect(to.seal(11, 1, rows, LINEAGE)).toEqual(seal)
    expect(read(to, 11, 1)).toEqual(read(expected, 0, 1))
    expect([read(to, 11, 0), read(to, 10, 1), read(to, 12, 1)]).toEqual(others)
    expect([to.tag(11), to.filled(11, 1)]).toEqual([{ owner: 5, generation: 1 }, 16])
    // `occupy` made one table of all pages, in order.
    const whole = {
      pages: Uint32Array.from({ length: 12 }, (_, i) => i),
      owners: new Uint32Array(12).fill(5),
      generations: new Uint32Array(12).fill(1),
    }
    expect(to.checkGuards(whole)).toBeNull()
  })

  it('sees the tag that stands there', () => {
    const [prefill, decode] = pair()
    const neighbour = openNeighbour(prefill, decode)
    expect(neighbour.tag(6)).toEqual({ owner: 0, generation: 0 })
    claimTable(open(decode), [6], 9, 4)
    expect(neighbour.tag(6)).toEqual({ owner: 9, generation: 4 })
  })

  it('refuses pages outside either pool, another memory and another shape', () => {
    const [prefill, decode] = pair(SHAPE, { ...SHAPE, pages: 10 })
    const neighbour = openNeighbour(prefill, decode)
    const bad = expect.objectContaining({ code: 'bad_call' })
    expect(() => neighbour.storeRows(0, 0, 16, 10)).toThrow(bad)
    expect(() => neighbour.storeRows(40, 0, 16, 0)).toThrow(bad)
    expect(() => neighbour.storeRows(0, 2, 16, 0)).toThrow(bad)
    expect(() => neighbour.storeRows(0, 0, 17, 0)).toThrow(bad)
    expect(() => neighbour.tag(10)).toThrow(bad)
    expect(() => openNeighbour(prefill, testPool(SHAPE))).toThrow(bad)
    expect(() => openNeighbour(prefill, { ...decode, shape: { ...SHAPE, layers: 1 } })).toThrow(bad)
  })
})
