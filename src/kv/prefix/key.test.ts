import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fullPrefixKeys } from './key.ts'
import { prefixPages } from './pages.ts'
import { groupOf, type PrefixScope } from './scope.ts'

const sha256 = (data: Uint8Array): Uint8Array => createHash('sha256').update(data).digest()
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const scopeKey = (scope: PrefixScope): string => hex(fullPrefixKeys.scope(scope, sha256))

const scope: PrefixScope = {
  tenant: { kind: 'tenant', id: 'a' },
  model: 'm',
  weights: 'w',
  dtype: 'f32',
  adapter: { kind: 'none' },
  salt: { kind: 'none' },
}

describe('R9: the key of a scope', () => {
  it('is another for every part that differs', () => {
    const others: PrefixScope[] = [
      { ...scope, tenant: { kind: 'tenant', id: 'b' } },
      { ...scope, tenant: { kind: 'public' } },
      { ...scope, tenant: { kind: 'tenant', id: 'public' } },
      { ...scope, tenant: { kind: 'tenant', id: '' } },
      { ...scope, model: 'n' },
      { ...scope, weights: 'x' },
      { ...scope, dtype: 'f16' },
      { ...scope, adapter: { kind: 'adapter', id: 'x' } },
      { ...scope, salt: { kind: 'salt', value: 'x' } },
      { ...scope, adapter: { kind: 'adapter', id: '' } },
      { ...scope, salt: { kind: 'salt', value: '' } },
    ]
    expect(new Set([scope, ...others].map(scopeKey)).size).toBe(others.length + 1)
  })

  it('never takes an adapter for a salt, nor lets a part end where another begins', () => {
    const text = fc.string({ maxLength: 6 })
    const any = fc.record({
      tenant: fc.oneof(
        fc.record({ kind: fc.constant('tenant' as const), id: text }),
        fc.constant({ kind: 'public' } as const),
      ),
      model: text,
      weights: text,
      dtype: fc.constantFrom('f32', 'f16'),
      adapter: fc.oneof(
        fc.constant({ kind: 'none' } as const),
        fc.record({ kind: fc.constant('adapter' as const), id: text }),
      ),
      salt: fc.oneof(
        fc.constant({ kind: 'none' } as const),
        fc.record({ kind: fc.constant('salt' as const), value: text }),
      ),
    })
    fc.assert(
      fc.property(any, any, (one, other) => {
        expect(scopeKey(one) === scopeKey(other)).toBe(JSON.stringify(one) === JSON.stringify(other))
      }),
      { numRuns: 500 },
    )
  })
})

describe('R9: tokens on a hit', () => {
  it('are compared one by one', () => {
    const held = Int32Array.of(1, 2, 3, 4)
    const matches = (...wanted: number[]): boolean => fullPrefixKeys.matches(Int32Array.from(wanted), held)
    expect(matches(1, 2, 3, 4)).toBe(true)
    expect([matches(1, 2, 3, 5), matches(0, 2, 3, 4), matches(1, 2, 3), matches(1, 2, 3, 4, 5)]).toEqual(
      Array(4).fill(false),
    )
  })
})

describe('the pages of a prompt', () => {
  const pagesOf = (ids: readonly number[], publicPrefixes: readonly (readonly number[])[] = [], tenant = 'a') =>
    prefixPages(
      Int32Array.from(ids),
      4,
      { ...scope, tenant: { kind: 'tenant', id: tenant } },
      publicPrefixes.map((prefix) => Int32Array.from(prefix)),
      fullPrefixKeys,
      sha256,
    )
  const names = (pages: ReturnType<typeof pagesOf>): string[] => pages.map(({ key }) => hex(key))

  it('are the full ones', () => {
    expect([0, 3, 4, 7, 8].map((length) => pagesOf(Array(length).fill(1)).length)).toEqual([0, 0, 1, 1, 2])
  })

  it('have equal keys exactly as far as all tokens before and on them are equal', () => {
    const ids = fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 0, maxLength: 16 })
    fc.assert(
      fc.property(ids, ids, (one, other) => {
        const [a, b] = [names(pagesOf(one)), names(pagesOf(other))]
        for (let i = 0; i < Math.min(a.length, b.length); i++) {
          const alike = JSON.stringify(one.slice(0, 4 * i + 4)) === JSON.stringify(other.slice(0, 4 * i + 4))
          expect(a[i] === b[i]).toBe(alike)
        }
      }),
    )
  })

  it('are everybody’s as far as they lie within a public prefix from the first token on', () => {
    const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    const pages = pagesOf(ids, [[9], [1, 2, 3, 4, 5, 6, 7, 8, 9]])
    expect(pages.map(({ group }) => group)).toEqual(['public', 'public', groupOf({ kind: 'tenant', id: 'a' })])
    const others = names(pagesOf(ids, [[1, 2, 3, 4, 5, 6, 7, 8, 9]], 'b'))
    expect(names(pages).map((name, i) => name === others[i])).toEqual([true, true, false])
  })

  it('are nobody else’s behind a public prefix that is left again', () => {
    const pages = pagesOf([1, 2, 3, 5, 5, 6, 7, 8], [[1, 2, 3, 4, 5, 6, 7, 8]])
    expect(pages.map(({ group }) => group)).toEqual(['tenant a', 'tenant a'])
  })
})
