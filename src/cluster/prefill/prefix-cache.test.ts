import { describe, expect, it } from 'vitest'
import { fullFences } from '../full-fences.ts'
import { privatePrefixes } from '../options.ts'
import { idsOf, ofKind } from '../testing/kit.ts'
import { cachedOf, cachingPrefill, wordsOf } from '../testing/prefill-kit.ts'

// Pages of 4 rows, 2 layers of 1 head of width 8: a page is 4 * 2 * 8 * 2 * 4 bytes.
const PAGE_BYTES = 512
const ids = (count: number, first = 10): { readonly ids: Int32Array } => ({ ids: idsOf(count, first) })

describe('a prompt that was computed before', () => {
  it('is read from the cache page by page, but for its last row’s page', () => {
    const { run, machine } = cachingPrefill(12)
    expect(cachedOf(run('a', ids(10)))).toBe(0)
    expect(machine.poolUse()).toMatchObject({ owned: 2, cached: 2, free: 10 })
    const again = run('b', ids(10))
    expect(cachedOf(again)).toBe(8)
    const [plan] = ofKind(again, 'forward').map((effect) => effect.plan)
    expect(plan!.sequences[0]).toMatchObject({ start: 8, tokens: idsOf(2, 18) })
    // A prompt that is cached to its end computes its last page anew.
    run('c', ids(12))
    expect(cachedOf(run('d', ids(12)))).toBe(8)
  })

  it('reaches decode in full, under the names and seals of the new request', () => {
    const { run } = cachingPrefill(12)
    const first = ofKind(run('a', ids(10)), 'send_page')
    const second = ofKind(run('b', ids(10)), 'send_page')
    const places = (sent: typeof first) => sent.map(({ frame }) => `${frame.ordinal}/${frame.layer}/${frame.rows}`)
    expect(places(second).sort()).toEqual(places(first).sort())
    expect(second.every(({ frame }) => frame.requestId === 'b')).toBe(true)
    const keys = (sent: typeof first) => new Set(sent.map(({ lineageKey }) => String(lineageKey)))
    expect([...keys(second)].filter((key) => keys(first).has(key))).toEqual([])
    expect(ofKind(run('c', ids(10)), 'send_manifest')[0]!.frame).toMatchObject({ pages: 3, rows: 10 })
  })

  it('is computed in full for another tenant (R9)', () => {
    const { run } = cachingPrefill(12)
    run('a', { ...ids(10), tenant: 'a' })
    expect(cachedOf(run('b', { ...ids(10), tenant: 'b' }))).toBe(0)
    expect(cachedOf(run('c', { ...ids(10), tenant: 'b' }))).toBe(8)
  })

  it('is shared by all as far as the operator has made it public', () => {
    const prefixCache = { publicPrefixes: [idsOf(6)], quotaBytes: new Map() }
    const { run } = cachingPrefill(12, { prefixCache })
    run('a', { ...ids(10), tenant: 'a' })
    expect(cachedOf(run('b', { ...ids(10), tenant: 'b' }))).toBe(4)
  })

  it('shares nothing between adapter and salt of one name', () => {
    let round = 0
    const selectors = () =>
      round++ === 0
        ? ({ adapter: { kind: 'adapter', id: 'x' }, salt: { kind: 'none' } } as const)
        : ({ adapter: { kind: 'none' }, salt: { kind: 'salt', value: 'x' } } as const)
    const { run } = cachingPrefill(12, { prefixCache: { ...privatePrefixes, selectors } })
    run('a', ids(10))
    expect(cachedOf(run('b', ids(10)))).toBe(0)
  })

  it('is not kept where there is no cache', () => {
    const { run, machine } = cachingPrefill(12, {}, null)
    run('a', ids(10))
    expect(machine.poolUse()).toMatchObject({ free: 12 })
    expect(cachedOf(run('b', ids(10)))).toBe(0)
  })
})

describe('R11: a page is published', () => {
  it('only once nothing of its request can touch it, and the request is released only after', () => {
    const { ask, settle, step } = cachingPrefill(12)
    const unsent = settle(ask('a', ids(8)), {}, ['send_page', 'publish_page'])
    expect([ofKind(unsent, 'publish_page'), ofKind(wordsOf(unsent), 'prefilled').length]).toEqual([[], 1])
    const sends = ofKind(unsent, 'send_page')
    const out = sends.flatMap(({ id }) => step({ kind: 'page_sent', id }))
    expect(ofKind(out, 'publish_page').map(({ ordinal }) => ordinal)).toEqual([0, 1])
    expect(ofKind(wordsOf(out), 'released')).toEqual([])
    expect(cachedOf(settle(ask('b', ids(9)), {}, ['publish_page']))).toBe(0)
    const published = settle(out.filter(({ kind }) => kind === 'publish_page'))
    expect(ofKind(wordsOf(published), 'released')).toMatchObject([{ requestId: 'a' }])
    expect(cachedOf(settle(ask('c', ids(9))))).toBe(8)
  })

  describe('never of a request that is aborted', () => {
    const abort = { kind: 'message', message: { kind: 'abort', requestId: 'a', attempt: 1 } } as const

    it('while its rows are being computed', () => {
      const { ask, settle, step, machine } = cachingPrefill(12)
      const begun = ask('a', ids(8))
      const aborted = step(abort)
      expect(machine.poolCounts()).toMatchObject({ draining: 2 })
      const after = [...aborted, ...settle(begun)]
      expect(ofKind(after, 'publish_page')).toEqual([])
      expect(machine.poolUse()).toMatchObject({ free: 12, cached: 0 })
    })

    it('after its last row, while its pages are being sent', () => {
      const { ask, settle, step, machine } = cachingPrefill(12)
      const sends = ofKind(settle(ask('a', ids(8)), {}, ['send_page']), 'send_page')
      const after = [...step(abort), ...settle(sends)]
      expect(ofKind(after, 'telemetry').filter(({ event }) => event.kind === 'integrity_fault')).toEqual([])
      expect(ofKind(after, 'publish_page')).toEqual([])
      expect(machine.poolUse()).toMatchObject({ free: 12, cached: 0 })
    })

    it('nor of one that decode gave up', () => {
      const { ask, settle, step } = cachingPrefill(12)
      const sends = ofKind(settle(ask('a', ids(8)), {}, ['send_page']), 'send_page')
      step({ kind: 'peer', message: { kind: 'lease_closed', lease: { id: 1, epoch: 9 } } })
      expect(ofKind(settle(sends), 'publish_page')).toEqual([])
    })
  })

  it('in its place, also where another has published the pages before it meanwhile', () => {
    const { ask, settle, run } = cachingPrefill(12)
    const first = settle(ask('a', ids(8)), {}, ['send_page'])
    const second = settle(ask('b', ids(12)), {}, ['send_page'])
    settle(ofKind(first, 'send_page'))
    const late = settle(ofKind(second, 'send_page'))
    expect(ofKind(late, 'publish_page').map(({ ordinal }) => ordinal)).toEqual([2])
    expect(cachedOf(run('c', ids(13)))).toBe(12)
  })
})

describe('when room is needed', () => {
  it('the page used longest ago makes way, from the end of its prompt on', () => {
    const { run, machine } = cachingPrefill(6)
    run('a', ids(8, 10))
    run('b', ids(8, 50))
    expect(machine.poolUse().cached).toBe(4)
    run('c', ids(9, 10))
    expect(cachedOf(run('d', ids(16, 90)))).toBe(0)
    expect(cachedOf(run('e', ids(9, 50)))).toBe(0)
  })

  it('never a page that somebody reads', () => {
    const { ask, settle, run, machine } = cachingPrefill(4)
    run('a', ids(8))
    const reading = ask('b', ids(9))
    expect(wordsOf(ask('c', ids(8, 50)))).toMatchObject([{ kind: 'declined', code: 'no_room' }])
    expect(cachedOf(settle(reading))).toBe(8)
    expect(machine.poolUse().cached).toBe(2)
  })

  it('all that is cached is room for one that needs it', () => {
    const { run } = cachingPrefill(4)
    run('a', ids(16))
    expect(cachedOf(run('b', ids(16, 50)))).toBe(0)
    expect(cachedOf(run('c', ids(16, 50)))).toBe(12)
  })

  it('a flush gives up what nobody reads at once, and the rest when its reader is done', () => {
    const { ask, settle, run, step, machine } = cachingPrefill(8)
    run('a', ids(8, 10))
    run('b', ids(8, 50))
    const reading = ask('c', ids(9, 10))
    step({ kind: 'flush_prefixes' })
    expect(machine.poolUse()).toMatchObject({ free: 5, cached: 2 })
    settle(reading)
    expect(machine.poolUse()).toMatchObject({ free: 8, cached: 0 })
    expect(cachedOf(run('d', ids(9, 10)))).toBe(0)
  })
})

describe('a tenant’s quota', () => {
  const withQuota = (pages: number) =>
    cachingPrefill(16, { prefixCache: { publicPrefixes: [], quotaBytes: new Map([['a', pages * PAGE_BYTES + 1]]) } })

  it('bounds the pages cached in its name, and nobody else’s', () => {
    const { run, machine } = withQuota(3)
    run('a', { ...ids(20), tenant: 'a' })
    expect(machine.poolUse().cached).toBe(3)
    run('b', { ...ids(20), tenant: 'b' })
    expect(machine.poolUse().cached).toBe(8)
  })

  it('makes the tenant’s own oldest pages go', () => {
    const { run } = withQuota(2)
    run('a', ids(8, 10))
    run('b', ids(8, 50))
    expect(cachedOf(run('c', ids(9, 50)))).toBe(8)
    expect(cachedOf(run('d', ids(9, 10)))).toBe(0)
  })

  it('never takes the page that the next one hangs on', () => {
    const { ask, settle, run, step, machine } = withQuota(1)
    const first = settle(ask('a', ids(4)), {}, ['send_page'])
    const second = settle(ask('b', ids(8)), {}, ['send_page'])
    settle(ofKind(first, 'send_page'))
    settle(ofKind(second, 'send_page'))
    expect(cachedOf(run('c', ids(9)))).toBe(4)
    step({ kind: 'flush_prefixes' })
    expect(machine.poolUse()).toMatchObject({ free: 16, cached: 0 })
  })

  it('is none for what is public', () => {
    const prefixCache = { publicPrefixes: [idsOf(12)], quotaBytes: new Map([['a', 0]]) }
    const { run, machine } = cachingPrefill(16, { prefixCache })
    run('a', ids(20))
    expect(machine.poolUse().cached).toBe(3)
  })
})

describe('R8: a cached page that is no longer what was sealed', () => {
  it('ends the request that meets it, and is quarantined, with all that was computed from it, until it is overwritten', () => {
    const { ask, settle, run, machine } = cachingPrefill(12)
    const [, bad] = ofKind(run('a', ids(12)), 'publish_page')
    const met = settle(ask('b', ids(13)), { verified: (page) => page !== bad!.page }, ['scrub'])
    expect(ofKind(wordsOf(met), 'failed')).toMatchObject([
      { requestId: 'b', code: 'kv_integrity', detail: `R8 bad_seal page ${bad!.page}` },
    ])
    expect(ofKind(met, 'forward')).toEqual([])
    expect(ofKind(met, 'send_page')).toEqual([])
    expect(ofKind(wordsOf(met), 'released')).toEqual([])
    expect(machine.poolUse()).toMatchObject({ cached: 1, quarantined: 1 })
    const scrubbed = settle(ofKind(met, 'scrub'))
    expect(ofKind(wordsOf(scrubbed), 'released')).toMatchObject([{ requestId: 'b' }])
    expect(machine.poolUse()).toMatchObject({ cached: 1, quarantined: 0, free: 11 })
    expect(cachedOf(run('c', ids(13)))).toBe(4)
  })

  it('ends everybody who has begun to read it, also before their own look at it', () => {
    const { ask, settle, run } = cachingPrefill(16)
    const [page] = ofKind(run('a', ids(8)), 'publish_page')
    const other = ask('b', ids(9))
    const met = settle(ask('c', ids(9)), { verified: (one) => one !== page!.page })
    expect(
      ofKind(wordsOf(met), 'failed')
        .map(({ requestId }) => requestId)
        .sort(),
    ).toEqual(['b', 'c'])
    const rest = settle(other)
    expect(ofKind(wordsOf(rest), 'prefilled')).toEqual([])
    expect(ofKind(rest, 'send_page')).toEqual([])
  })

  it('is nobody’s at once: what is still waiting to be sent of it is not sent, and decode misses it', () => {
    const { ask, settle, run, step } = cachingPrefill(16)
    const [page] = ofKind(run('a', ids(8)), 'publish_page')
    const complete = settle(ask('b', ids(9)), {}, ['send_page'])
    expect(ofKind(wordsOf(complete), 'prefilled')).toHaveLength(1)
    const met = settle(ask('c', ids(9)), { verified: (one) => one !== page!.page })
    expect(ofKind(met, 'revoke').map(({ pages }) => [...pages])).toEqual([[page!.page]])
    const waiting = ofKind(complete, 'send_page')
    const told = waiting.flatMap(({ id, page: sent }) =>
      step({ kind: 'page_sent', id, ...(sent === page!.page ? { fault: 'page_tag' as const } : {}) }),
    )
    expect(ofKind(told, 'publish_page')).toEqual([])
    expect(ofKind(wordsOf(settle(told)), 'released').map(({ requestId }) => requestId)).toContain('b')
  })

  it('is not asked for where pages go unsealed', () => {
    const { run } = cachingPrefill(12, { fences: fullFences('tags') })
    expect(ofKind(run('a', ids(8)), 'publish_page')[0]!.lineageKeys).toBe(null)
    const again = run('b', ids(9))
    expect([ofKind(again, 'verify_page'), cachedOf(again)]).toEqual([[], 8])
  })
})

describe('R5: a page whose guard rows are gone', () => {
  it('is not published, though its new tag would mend them', () => {
    const { ask, settle, run, machine } = cachingPrefill(12)
    settle(ask('a', ids(8)), { guarded: () => false })
    expect(machine.poolUse()).toMatchObject({ cached: 0, quarantined: 0, free: 12 })
    expect(cachedOf(run('b', ids(9)))).toBe(0)
  })

  it('is found by the sweep while it is cached, and whoever reads it ends', () => {
    const { ask, run, step, machine } = cachingPrefill(12)
    const [page] = ofKind(run('a', ids(8)), 'publish_page')
    ask('b', ids(9))
    const swept = step({ kind: 'swept', id: 1, fault: { page: page!.page, layer: 0 } })
    expect(ofKind(wordsOf(swept), 'failed')).toMatchObject([{ requestId: 'b', code: 'kv_integrity' }])
    expect(machine.poolUse().quarantined).toBe(1)
  })
})
