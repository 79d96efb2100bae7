import { describe, expect, it } from 'vitest'
import { fullPageFences, type HolderCounts } from './index.ts'

const { owner, filled, fencedFree, conserved } = fullPageFences

describe('the page fences, each by itself', () => {
  it('R5: a handle is its owner and its generation, both', () => {
    const actual = { owner: 3, generation: 9 }
    expect(owner({ owner: 3, generation: 9 }, actual)).toBe(true)
    expect(owner({ owner: 4, generation: 9 }, actual)).toBe(false)
    expect(owner({ owner: 3, generation: 8 }, actual)).toBe(false)
  })

  it('R5: as many rows may be asked for as stand, and not one more', () => {
    expect([filled(0, 0), filled(7, 7), filled(8, 7)]).toEqual([true, true, false])
  })

  it('R6: a page is free when nobody of any kind holds it', () => {
    const nobody: HolderCounts = { lease: 0, step: 0, writer: 0, reader: 0, copy: 0 }
    expect(fencedFree(nobody)).toBe(true)
    for (const kind of Object.keys(nobody)) expect([kind, fencedFree({ ...nobody, [kind]: 1 })]).toEqual([kind, false])
  })

  it('R7: counts add up to the pool, no more and no less', () => {
    const total = 10
    expect(conserved({ free: 3, owned: 5, quarantined: 2, total })).toBe(true)
    expect(conserved({ free: 3, owned: 5, quarantined: 1, total })).toBe(false)
    expect(conserved({ free: 4, owned: 5, quarantined: 2, total })).toBe(false)
  })
})
