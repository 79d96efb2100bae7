import { createCipheriv, createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { contractLayout, type Lineage, layoutOrdinals, lineageKey, prefixDigests, sequencePages } from './index.ts'

const sha256 = (data: Uint8Array): Uint8Array => new Uint8Array(createHash('sha256').update(data).digest())
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

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

  it('is what its definition says', () => {
    const tokenDigest = Uint8Array.from({ length: 32 }, (_, i) => i * 11)
    const domain = 'bulkhead/lineage-namespace/1'
    const named = Buffer.concat([word(domain.length), Buffer.from(domain), word(4), Buffer.from('r1/0'), word(0)])
    const key = sha256(named).map((byte, i) => byte ^ tokenDigest[i]!)
    const counterAndNonce = Buffer.concat([1, 2, 3, 0].map(word))
    const block = createCipheriv('chacha20', key, counterAndNonce).update(new Uint8Array(32))
    expect(hex(lineageKey({ ...base, tokenDigest }, sha256))).toBe(hex(block))
  })

  it('needs one digest for all pages of a request in turn, and gives the same after another has come between', () => {
    let calls = 0
    const counted = (data: Uint8Array): Uint8Array => {
      calls += 1
      return sha256(data)
    }
    const of = (namespace: string, ordinal: number): string => hex(lineageKey({ ...base, namespace, ordinal }, counted))
    const first = [0, 1, 2].map((ordinal) => of('r1/0', ordinal))
    expect([calls, new Set(first).size]).toEqual([1, 3])
    expect(first).not.toContain(of('r2/0', 0))
    expect([of('r1/0', 0), calls]).toEqual([first[0], 3])
  })

  it('refuses what is no digest', () => {
    expect(() => lineageKey({ ...base, tokenDigest: new Uint8Array(31) }, sha256)).toThrow('32 bytes')
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
