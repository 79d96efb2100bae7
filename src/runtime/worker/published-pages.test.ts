import { beforeEach, describe, expect, it } from 'vitest'
import type { PrefillEvent, PublishPageEffect, VerifyPageEffect } from '../../cluster/index.ts'
import { createPool, openPool, type PoolKernels } from '../../kernels/index.ts'
import { createGuardBook } from './guard-book.ts'
import { createPublishedPages } from './published-pages.ts'

const SHAPE = { pages: 4, pageSize: 4, layers: 2, heads: 1, kvHeads: 1, headDim: 4 }
const KEYS = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
const one = (value: number): Uint32Array => Uint32Array.of(value)

let kernels: PoolKernels
let execute: (effect: PublishPageEffect | VerifyPageEffect) => void
let events: PrefillEvent[]

beforeEach(() => {
  const checks = { tags: true, filled: true, guards: true }
  kernels = openPool(createPool(SHAPE, new BigUint64Array([3n, 5n])), {
    lane: 0,
    checks,
    ropeTheta: 10_000,
    ropeDims: 4,
  })
  events = []
  const guards = createGuardBook(kernels, SHAPE.pages)
  execute = createPublishedPages(
    kernels,
    guards,
    () => 5,
    (event) => events.push(event),
  )
  kernels.claim(one(2), one(7), one(1), one(3))
  guards.claimed(one(2), one(3))
  for (const layer of [0, 1]) {
    kernels.writeRows(2, layer, 4, new Uint8Array(kernels.rowBytes(4)).fill(layer + 1))
    kernels.markFilled(2, layer, 4)
  }
})

const publish = (change: Partial<PublishPageEffect> = {}): Extract<PrefillEvent, { kind: 'page_published' }> => {
  const tags = { from: { owner: 7, generation: 1 }, to: { owner: 8, generation: 2 } }
  execute({ kind: 'publish_page', id: 1, page: 2, ordinal: 3, ...tags, rows: 4, lineageKeys: KEYS, ...change })
  return events.pop() as ReturnType<typeof publish>
}
const verify = (seals: readonly Uint8Array[]): boolean => {
  execute({ kind: 'verify_page', id: 2, page: 2, rows: 4, lineageKeys: KEYS, seals })
  return (events.pop() as Extract<PrefillEvent, { kind: 'page_verified' }>).ok
}

describe('a page that is published', () => {
  it('has the new tag, whole guard rows in its place, and its rows', () => {
    const { guarded, seals } = publish()
    expect([guarded, seals.length]).toEqual([true, 2])
    expect(kernels.tag(2)).toEqual({ owner: 8, generation: 2 })
    expect([kernels.filled(2, 0), kernels.filled(2, 1)]).toEqual([4, 4])
    const table = {
      pages: Uint32Array.of(0, 0, 0, 2),
      owners: Uint32Array.of(0, 0, 0, 8),
      generations: Uint32Array.of(0, 0, 0, 2),
    }
    expect(kernels.checkGuards(table, 4, 3)).toBe(null)
  })

  it('is said to be unguarded if its guard rows were wrong before they were written anew', () => {
    expect(publish({ from: { owner: 7, generation: 9 } }).guarded).toBe(false)
  })

  it('has no seals where pages go unsealed', () => {
    expect(publish({ lineageKeys: null }).seals).toEqual([])
  })
})

describe('a page that is used again', () => {
  it('verifies as long as no bit of any layer is another', () => {
    const { seals } = publish()
    expect(verify(seals)).toBe(true)
    const rows = new Uint8Array(kernels.rowBytes(4))
    kernels.readRows(2, 1, 4, rows)
    rows[17]! ^= 8
    kernels.writeRows(2, 1, 4, rows)
    expect(verify(seals)).toBe(false)
  })

  it('does not verify with its layers in each other’s place', () => {
    const { seals } = publish()
    expect(verify([...seals].reverse())).toBe(false)
  })
})
