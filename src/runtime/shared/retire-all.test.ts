import { expect, test } from 'vitest'
import { createPool, openPool } from '../../kernels/index.ts'
import { drillPages, withDrillPages } from '../drills/index.ts'
import { retireAll } from './retire-all.ts'

const LEDGER = { pages: 3, pageSize: 4, layers: 2, heads: 1, kvHeads: 1, headDim: 4 }
const CHECKS = { tags: true, filled: true, guards: true }

test.each([
  ['tags', 7],
  ['zero', 0],
  ['poison', 255],
] as const)(
  'every page of the ledger is nobody’s, and its rows as %s leaves them; the drills keep theirs',
  (scrub, byte) => {
    const pool = createPool(withDrillPages(LEDGER), BigUint64Array.of(1n, 2n))
    const kernels = openPool(pool, { lane: 1, checks: CHECKS, ropeTheta: 1, ropeDims: 0 })
    const drilled = drillPages(LEDGER).forward
    for (const page of [0, 1, 2, drilled]) {
      kernels.claim(Uint32Array.of(page), Uint32Array.of(5), Uint32Array.of(1), Uint32Array.of(0))
      for (const layer of [0, 1]) {
        kernels.writeRows(page, layer, 4, new Uint8Array(kernels.rowBytes(4)).fill(7))
        kernels.markFilled(page, layer, 4)
      }
    }
    retireAll(pool, LEDGER.pages, scrub)
    const seen = (page: number): readonly unknown[] => {
      const rows = new Uint8Array(kernels.rowBytes(4))
      kernels.readRows(page, 1, 4, rows)
      return [kernels.tag(page).owner, kernels.filled(page, 0), kernels.filled(page, 1), rows[0]]
    }
    for (const page of [0, 1, 2]) expect(seen(page)).toEqual([0, 0, 0, byte])
    expect(seen(drilled)).toEqual([5, 4, 4, 7])
  },
)

test.each([
  ['tags', 7],
  ['zero', 0],
  ['poison', 255],
] as const)('a page whose scrub was cut short, nobody’s already, is overwritten after all: %s', (scrub, byte) => {
  const pool = createPool(withDrillPages(LEDGER), BigUint64Array.of(1n, 2n))
  const kernels = openPool(pool, { lane: 1, checks: CHECKS, ropeTheta: 1, ropeDims: 0 })
  kernels.claim(Uint32Array.of(1), Uint32Array.of(5), Uint32Array.of(1), Uint32Array.of(0))
  const rows = new Uint8Array(kernels.rowBytes(4)).fill(7)
  kernels.writeRows(1, 0, 4, rows)
  // As far as a scrub comes before it reaches the rows.
  kernels.retire(Uint32Array.of(1), 'tags')
  retireAll(pool, LEDGER.pages, scrub)
  kernels.readRows(1, 0, 4, rows)
  expect(rows.every((one) => one === byte)).toBe(true)
})
