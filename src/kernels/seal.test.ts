import { describe, expect, it } from 'vitest'
import { chacha20 } from './chacha20.ts'
import { createPool } from './create-pool.ts'
import { randomFloats, shapeOf, testKernels } from './testing/fixtures.ts'
import { referenceSeal } from './testing/seal-reference.ts'
import type { KernelShape, PoolKernels } from './types.ts'

const SEAL_KEY = Uint8Array.from({ length: 32 }, (_, i) => i * 7 + 1)
const LINEAGE = Uint8Array.from({ length: 32 }, (_, i) => 255 - i * 5)

function open(shape: KernelShape, key = 1n): PoolKernels {
  return testKernels(createPool(shape, BigUint64Array.of(key, key), SEAL_KEY))
}

function hex(seal: Uint8Array): string {
  return Buffer.from(seal).toString('hex')
}

const contents = (kernels: PoolKernels, rows: number, seed = 3): Uint8Array =>
  new Uint8Array(randomFloats(seed)(kernels.rowBytes(rows) / 4).buffer)

describe('seal', () => {
  it.each([
    { heads: 2, kvHeads: 2, headDim: 64 },
    { heads: 8, kvHeads: 4, headDim: 128, pageSize: 32 },
    { heads: 1, kvHeads: 1, headDim: 4, pageSize: 4 },
    { heads: 3, kvHeads: 3, headDim: 20, pageSize: 8 },
  ])('is what its definition says, for every number of rows: %o', (numbers) => {
    const shape = shapeOf({ ...numbers, pages: 2, layers: 2 })
    const kernels = open(shape)
    for (let rows = 0; rows <= shape.pageSize; rows++) {
      const data = contents(kernels, rows)
      kernels.writeRows(1, 1, rows, data)
      expect(hex(kernels.seal(1, 1, rows, LINEAGE))).toBe(hex(referenceSeal(shape, SEAL_KEY, LINEAGE, rows, 1, data)))
    }
  })

  it('is the same for rows that stand in no page, and touches none', () => {
    const shape = shapeOf({ pages: 2, layers: 2, heads: 3, kvHeads: 3, headDim: 20, pageSize: 8 })
    const kernels = open(shape)
    const before = new Uint8Array(kernels.rowBytes(8))
    for (let rows = 0; rows <= shape.pageSize; rows++) {
      const data = contents(kernels, rows)
      expect(hex(kernels.sealRows(1, rows, data, LINEAGE))).toBe(
        hex(referenceSeal(shape, SEAL_KEY, LINEAGE, rows, 1, data)),
      )
    }
    for (const page of [0, 1]) {
      kernels.readRows(page, 1, 8, before)
      expect(before.every((byte) => byte === 0)).toBe(true)
    }
    expect(() => kernels.sealRows(1, 8, before.subarray(1), LINEAGE)).toThrow('3839 bytes are not 8 rows')
  })

  it('is right where the arithmetic carries most', () => {
    const shape = shapeOf({ pages: 1 })
    const kernels = open(shape)
    const ones = new Uint8Array(32).fill(255)
    for (const byte of [0, 1, 127, 128, 255]) {
      const data = new Uint8Array(kernels.rowBytes(16)).fill(byte)
      kernels.writeRows(0, 0, 16, data)
      expect(hex(kernels.seal(0, 0, 16, ones))).toBe(hex(referenceSeal(shape, SEAL_KEY, ones, 16, 0, data)))
    }
  })

  it('is the same for the same rows on another page of another pool with the same seal key', () => {
    const shape = shapeOf({ pages: 8 })
    const [a, b] = [open(shape, 1n), open(shape, 2n)]
    const data = contents(a, 11)
    a.writeRows(2, 0, 11, data)
    b.writeRows(7, 0, 11, data)
    expect(hex(b.seal(7, 0, 11, LINEAGE))).toBe(hex(a.seal(2, 0, 11, LINEAGE)))
  })

  it('changes with every single bit of a page', () => {
    const shape = shapeOf({ pages: 1, kvHeads: 1, heads: 1, headDim: 8, pageSize: 4 })
    const kernels = open(shape)
    const data = contents(kernels, 4)
    const seen = new Set<string>()
    for (let bit = -1; bit < data.length * 8; bit++) {
      const flipped = data.slice()
      if (bit >= 0) flipped[bit >> 3]! ^= 1 << (bit & 7)
      kernels.writeRows(0, 0, 4, flipped)
      seen.add(hex(kernels.seal(0, 0, 4, LINEAGE)))
    }
    expect(seen.size).toBe(data.length * 8 + 1)
  })

  it('changes when rows are permuted, shifted, cut short or foreign, and with the layer and the lineage', () => {
    const shape = shapeOf({ pages: 1, layers: 2, kvHeads: 1, heads: 1 })
    const kernels = open(shape)
    const data = contents(kernels, 16)
    const row = 64 * 4
    const seal = (bytes: Uint8Array, rows = 16, layer = 0, lineage = LINEAGE): string => {
      kernels.writeRows(0, layer, rows, bytes)
      return hex(kernels.seal(0, layer, rows, lineage))
    }
    const swapped = data.slice()
    swapped.copyWithin(0, row * 4, row * 5)
    swapped.set(data.subarray(0, row), row * 4)
    const halves = Uint8Array.from([...data.subarray(row * 16), ...data.subarray(0, row * 16)])
    const shifted = data.slice()
    shifted.copyWithin(row, 0, row * 15)
    const other = LINEAGE.slice()
    other[31]! ^= 1
    const seals = [
      seal(data),
      seal(swapped),
      seal(halves),
      seal(shifted),
      seal(Uint8Array.from([...data.subarray(0, row * 15), ...data.subarray(row * 16, row * 31)]), 15),
      seal(contents(kernels, 16, 4)),
      seal(data, 16, 1),
      seal(data, 16, 0, other),
      seal(new Uint8Array(row * 32)),
      seal(new Uint8Array(row * 30), 15),
      seal(new Uint8Array(0), 0),
    ]
    expect(new Set(seals).size).toBe(seals.length)
  })

  it('refuses a lineage key of another length', () => {
    expect(() => open(shapeOf({ pages: 1 })).seal(0, 0, 1, new Uint8Array(16))).toThrow('32 bytes')
  })
})

describe('chacha20', () => {
  it('matches RFC 8439, section 2.3.2', () => {
    const key = Uint8Array.from({ length: 32 }, (_, i) => i)
    const nonce = Uint8Array.from([0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0])
    expect(Buffer.from(chacha20(key, nonce, 64, 1)).toString('hex')).toBe(
      '10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e' +
        'd2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e',
    )
  })
})
