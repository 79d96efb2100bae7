import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { contractLayout, type Lineage, layoutOrdinals, lineageKey, prefixDigests, sequencePages } from './index.ts'

const sha256 = (data: Uint8Array): Uint8Array => new Uint8Array(createHash('sha256').update(data).digest())
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('lineageKey', () => {
  const base: Lineage = { namespace: 'r1/0', tokenDigest: new Uint8Array(32), layer: 1, ordinal: 2, rows: 3 }

  it('is another for every field that differs', () => {
    const others: Lineage[] = [
      base,
      { ...base, namespace: 'r1/1' },
      { ...base, tokenDigest: new Uint8Array(32).fill(1) },
      { ...base, layer: 2 },
      { ...base, ordinal: 1 },
      { ...base, layer: 2, ordinal: 1 },
      { ...base, rows: 2 },
    ]
    expect(new Set(others.map((lineage) => hex(lineageKey(lineage, sha256)))).size).toBe(others.length)
  })

  it('is derived once for the layers of a page, and remembered with its digest and for its lineage alone', () => {
    let calls = 0
    const counted = (data: Uint8Array): Uint8Array => {
      calls += 1
      return sha256(data)
    }
    const tokenDigest = new Uint8Array(32)
    const keys = [0, 1, 2, 3].map((layer) => hex(lineageKey({ ...base, tokenDigest, layer }, counted)))
    expect([calls, new Set(keys).size]).toEqual([1, 4])
    const other = hex(lineageKey({ ...base, tokenDigest, layer: 0, namespace: 'r2/0' }, counted))
    expect([calls, keys.includes(other)]).toEqual([2, false])
    expect(hex(lineageKey({ ...base, tokenDigest: tokenDigest.slice(), layer: 3 }, counted))).toBe(keys[3])
  })

  it('does not let a field run into its neighbour', () => {
    const left = { ...base, namespace: 'ab', tokenDigest: new TextEncoder().encode('c') }
    const right = { ...base, namespace: 'a', tokenDigest: new TextEncoder().encode('bc') }
    expect(hex(lineageKey(left, sha256))).not.toBe(hex(lineageKey(right, sha256)))
  })
})

describe('prefixDigests', () => {
  it('agree on a common prefix in whole pages and differ from the first difference on', () => {
    const one = prefixDigests(Int32Array.of(1, 2, 3, 4, 5, 6), 2, sha256).map(hex)
    const two = prefixDigests(Int32Array.of(1, 2, 3, 9, 5, 6), 2, sha256).map(hex)
    expect(one).toHaveLength(3)
    expect(two[0]).toBe(one[0])
    expect(two[1]).not.toBe(one[1])
    expect(two[2]).not.toBe(one[2])
  })

  it('tell a partly filled last page from a full one', () => {
    const short = prefixDigests(Int32Array.of(1, 2, 3), 2, sha256).map(hex)
    const full = prefixDigests(Int32Array.of(1, 2, 3, 0), 2, sha256).map(hex)
    expect(short[1]).not.toBe(full[1])
  })
})

describe('contractLayout', () => {
  it('shares full prompt pages and gives each sequence its own tail and output', () => {
    const layout = contractLayout({ promptTokens: 10, maxOutput: 3, n: 2 }, 4)
    expect(layout).toEqual({ promptPages: 3, sharedPages: 2, ownPages: 2, tailRows: 2, totalPages: 6 })
    expect(sequencePages(layout, 0)).toEqual([0, 1, 2, 3])
    expect(sequencePages(layout, 1)).toEqual([0, 1, 4, 5])
    expect([...layoutOrdinals(layout)]).toEqual([0, 1, 2, 3, 2, 3])
  })

  it('leaves no tail where the prompt ends with a page', () => {
    expect(contractLayout({ promptTokens: 8, maxOutput: 1, n: 3 }, 4)).toEqual({
      promptPages: 2,
      sharedPages: 2,
      ownPages: 1,
      tailRows: 0,
      totalPages: 5,
    })
  })
})
