import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PrefixPage } from './pages.ts'
import { PrefixIndex, type PrefixNode } from './prefix-index.ts'
import { publishAfterCommit } from './publish.ts'

const tokens = (ids: readonly number[]): Int32Array => Int32Array.from(ids)
const equal = (a: Int32Array, b: Int32Array): boolean => a.join() === b.join()

let owner = 1
/** A prompt of one-token pages; the key spells all tokens up to the page. */
const pagesOf = (word: string, group = 'tenant a'): PrefixPage[] =>
  [...word].map((_, ordinal) => ({
    key: new TextEncoder().encode(`${group}:${word.slice(0, ordinal + 1)}`),
    group,
    ordinal,
    tokens: tokens([word.charCodeAt(ordinal)]),
  }))

const indexOf = (quotas: Readonly<Record<string, number>> = {}) => {
  const index = new PrefixIndex({ quota: (group) => quotas[group] ?? Number.POSITIVE_INFINITY, matches: equal })
  const add = (word: string, group?: string): PrefixNode[] => {
    const path: PrefixNode[] = []
    for (const page of pagesOf(word, group)) {
      let node = index.find(page)
      if (node === undefined) {
        node = index.insert(page, path.at(-1) ?? null, { access: 'read', page: owner, owner: owner++, generation: 1 })
        node.state = 'ready'
      }
      path.push(node)
    }
    index.use(path)
    return path
  }
  return { index, add }
}
const words = (nodes: readonly (PrefixNode | null)[]): string[] =>
  nodes.map((node) => (node === null ? '-' : new TextDecoder().decode(node.page.key)))

describe('a walk', () => {
  it('finds the longest beginning that is there, and nothing of another group', () => {
    const { index, add } = indexOf()
    add('abc')
    expect(words(index.walk(pagesOf('abd')))).toEqual(['tenant a:a', 'tenant a:ab'])
    expect(index.walk(pagesOf('bc'))).toEqual([])
    expect(index.walk(pagesOf('abc', 'tenant b'))).toEqual([])
  })

  it('ends before a page that is not ready', () => {
    const { index, add } = indexOf()
    add('abc')[1]!.state = 'sealing'
    expect(words(index.walk(pagesOf('abc')))).toEqual(['tenant a:a'])
  })

  it('compares tokens (R9): a key that leads to others finds nothing, and its place is taken', () => {
    const { index, add } = indexOf()
    add('a')
    const forged = { ...pagesOf('a')[0]!, tokens: tokens([1]) }
    expect(index.walk([forged])).toEqual([])
    expect(index.taken(forged)).toBe(true)
  })
})

describe('the next to go', () => {
  it('is the leaf used longest ago, a parent only once nothing hangs on it', () => {
    const { index, add } = indexOf()
    add('abc')
    add('x')
    index.use(index.walk(pagesOf('a')))
    const gone: (PrefixNode | null)[] = []
    for (let i = 0; i < 5; i++) {
      const node = index.victim()
      gone.push(node)
      if (node !== null) index.remove(node)
    }
    expect(words(gone)).toEqual(['tenant a:abc', 'tenant a:ab', 'tenant a:x', 'tenant a:a', '-'])
  })

  it('is never one that is borrowed, being sealed, or to be kept', () => {
    const { index, add } = indexOf()
    const [a] = add('a')
    const [b] = add('b')
    const [c] = add('c')
    a!.borrowers = 1
    b!.state = 'sealing'
    expect(index.victimOf('tenant a', [c!])).toBe(null)
    expect(index.victim()).toBe(c)
  })

  it('is never one on which a page hangs that is being sealed', () => {
    const { index, add } = indexOf()
    const [a, ab] = add('ab')
    ab!.state = 'sealing'
    expect(index.victim()).toBe(null)
    ab!.state = 'ready'
    expect(index.victim()).toBe(ab)
    index.remove(ab!)
    expect(index.victim()).toBe(a)
  })

  it('belongs to the tenant that holds most; what is public goes last', () => {
    const { index, add } = indexOf()
    add('p', 'public')
    add('s', 'tenant small')
    add('abc', 'tenant large')
    const gone: (PrefixNode | null)[] = []
    for (let i = 0; i < 5; i++) {
      const node = index.victim()
      gone.push(node)
      if (node !== null) index.remove(node)
    }
    expect(words(gone).slice(0, 2)).toEqual(['tenant large:abc', 'tenant large:ab'])
    expect(words(gone).at(-1)).toBe('public:p')
  })
})

describe('an index', () => {
  it('knows when a group is at its quota', () => {
    const { index, add } = indexOf({ 'tenant a': 2 })
    expect(index.hasRoom('tenant a')).toBe(true)
    add('ab')
    expect([index.hasRoom('tenant a'), index.hasRoom('tenant b')]).toEqual([false, true])
  })

  it('loses with a node everything that hangs on it, once', () => {
    const { index, add } = indexOf()
    const path = add('abc')
    add('abd')
    expect(words(index.remove(path[1]!)).sort()).toEqual(['tenant a:ab', 'tenant a:abc', 'tenant a:abd'])
    expect(index.remove(path[1]!)).toEqual([])
    expect([index.pages, path[0]!.children.size]).toEqual([1, 0])
  })

  it('under any order of use keeps whole paths: what is found can be found from the first page on', () => {
    const step = fc.record({
      word: fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 }),
      evict: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { index, add } = indexOf()
        for (const { word, evict } of steps) {
          if (evict) {
            const node = index.victim()
            if (node === null) expect(index.pages).toBe(0)
            else expect(index.remove(node)).toHaveLength(1)
          } else {
            add(word)
            expect(index.walk(pagesOf(word))).toHaveLength(word.length)
          }
          for (const node of index.nodes()) {
            if (node.parent !== null) expect(node.parent.state).toBe('ready')
            expect(index.ownedBy(node.view.owner)).toBe(node)
          }
          expect(index.pagesOf('tenant a')).toBe(index.pages)
        }
      }),
    )
  })
})

describe('R11: what may be published', () => {
  it('is a full, sealed page of a request that was complete', () => {
    const good = { ending: 'complete', rows: 4, pageSize: 4, sealed: true } as const
    expect(publishAfterCommit(good)).toBe(true)
    for (const change of [{ ending: 'aborted' }, { ending: 'running' }, { rows: 3 }, { sealed: false }] as const)
      expect(publishAfterCommit({ ...good, ...change })).toBe(false)
  })
})
