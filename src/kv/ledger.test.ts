import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PageFences, PageGrant, Reservation } from './index.ts'
import { fullPageFences, PageLedger, pageTable } from './index.ts'

const ledgerOf = (pages: number, fences: PageFences = fullPageFences): PageLedger =>
  new PageLedger({ pages, pageSize: 4, layers: 2, fences })

const reserve = (ledger: PageLedger, count: number): Reservation => {
  const reserved = ledger.reserve(count)
  if (!reserved.ok) throw new Error(reserved.fault.message)
  return reserved.value
}

const code = (fault: { readonly code: string } | null): string | null => fault?.code ?? null

describe('reserve', () => {
  it('takes all pages or none', () => {
    const ledger = ledgerOf(3)
    const refused = ledger.reserve(4)
    expect(refused.ok ? null : refused.fault.code).toBe('no_room')
    expect(ledger.counts()).toEqual({ total: 3, free: 3, owned: 0, draining: 0, quarantined: 0 })
    expect(reserve(ledger, 3).grants).toHaveLength(3)
    expect(ledger.counts().free).toBe(0)
  })

  it('gives each claim of a page a new generation, and hands out the last freed pages first, in the same order', () => {
    const ledger = ledgerOf(8)
    const first = reserve(ledger, 3)
    for (const grant of first.grants.toReversed()) ledger.release(grant, 'lease')
    const second = reserve(ledger, 3)
    expect(second.grants.map((grant) => grant.page)).toEqual(first.grants.map((grant) => grant.page))
    const generations = [...first.grants, ...second.grants].map((grant) => grant.generation)
    expect(new Set(generations).size).toBe(generations.length)
    expect(second.owner).not.toBe(first.owner)
  })
})

describe('handles', () => {
  it('are stale once the page has been freed, whatever is asked of it', () => {
    const ledger = ledgerOf(1)
    const [old] = reserve(ledger, 1).grants as [PageGrant]
    ledger.release(old, 'lease')
    reserve(ledger, 1)
    expect(code(ledger.fill(old, 0, 0, 1))).toBe('stale_handle')
    expect(code(ledger.seal(old, 0))).toBe('stale_handle')
    expect(code(ledger.hold(old, 'step'))).toBe('stale_handle')
    expect(code(ledger.quarantine(old))).toBe('stale_handle')
    expect(code(ledger.checkRead(pageTable([old]), 1))).toBe('stale_handle')
    const released = ledger.release(old, 'lease')
    expect(released.ok ? null : released.fault.code).toBe('stale_handle')
  })
})

describe('filling', () => {
  it('takes rows in order, layer by layer, and never beyond the page', () => {
    const ledger = ledgerOf(1)
    const [grant] = reserve(ledger, 1).grants as [PageGrant]
    expect(code(ledger.fill(grant, 0, 1, 1))).toBe('write_order')
    expect(ledger.fill(grant, 0, 0, 3)).toBeNull()
    expect(ledger.rows(grant)).toBe(0)
    expect(ledger.fill(grant, 1, 0, 3)).toBeNull()
    expect(ledger.rows(grant)).toBe(3)
    expect(code(ledger.fill(grant, 0, 2, 1))).toBe('write_order')
    expect(code(ledger.fill(grant, 0, 3, 2))).toBe('write_order')
    expect(ledger.fillAll(grant, 3, 1)).toBeNull()
    expect(ledger.rows(grant)).toBe(4)
  })

  it('is over once the page is sealed, and a page seals only with its rows standing in every layer', () => {
    const ledger = ledgerOf(1)
    const [grant] = reserve(ledger, 1).grants as [PageGrant]
    ledger.fill(grant, 0, 0, 4)
    expect(code(ledger.seal(grant, 4))).toBe('unfilled')
    ledger.fill(grant, 1, 0, 4)
    expect(ledger.seal(grant, 4)).toBeNull()
    expect(code(ledger.fill(grant, 0, 4, 1))).toBe('wrong_state')
    expect(ledger.cells()).toBe('s')
  })

  it('is what a read plan is checked against', () => {
    const ledger = ledgerOf(2)
    const { grants } = reserve(ledger, 2)
    ledger.fillAll(grants[0]!, 0, 4)
    ledger.fillAll(grants[1]!, 0, 1)
    expect(ledger.checkRead(pageTable(grants), 5)).toBeNull()
    const fault = ledger.checkRead(pageTable(grants), 6)
    expect(fault).toMatchObject({ code: 'unfilled', details: { page: grants[1]!.page } })
  })
})

describe('R6: a page is free when its last holder has let go', () => {
  for (const kind of ['step', 'writer', 'reader', 'copy'] as const) {
    it(`drains while a ${kind} holds it`, () => {
      const ledger = ledgerOf(1)
      const [grant] = reserve(ledger, 1).grants as [PageGrant]
      expect(ledger.hold(grant, kind)).toBeNull()
      expect(ledger.release(grant, 'lease')).toEqual({ ok: true, value: 'held' })
      expect(ledger.cells()).toBe('d')
      expect(ledger.reserve(1).ok).toBe(false)
      expect(code(ledger.hold(grant, 'reader'))).toBe('wrong_state')
      expect(ledger.release(grant, kind)).toEqual({ ok: true, value: 'home' })
      expect(ledger.cells()).toBe('.')
    })
  }

  it('refuses to release a holder that was never taken', () => {
    const ledger = ledgerOf(1)
    const [grant] = reserve(ledger, 1).grants as [PageGrant]
    const released = ledger.release(grant, 'step')
    expect(released.ok ? null : released.fault.code).toBe('not_held')
  })

  it('is reused under its holders without the fence', () => {
    const ledger = ledgerOf(1, { ...fullPageFences, fencedFree: () => true })
    const [grant] = reserve(ledger, 1).grants as [PageGrant]
    ledger.hold(grant, 'step')
    expect(ledger.release(grant, 'lease')).toEqual({ ok: true, value: 'home' })
  })
})

describe('quarantine', () => {
  it('keeps a page from everybody until proof comes and all holders have gone', () => {
    const ledger = ledgerOf(1)
    const [grant] = reserve(ledger, 1).grants as [PageGrant]
    ledger.hold(grant, 'step')
    expect(ledger.quarantine(grant)).toBeNull()
    expect(ledger.counts()).toEqual({ total: 1, free: 0, owned: 0, draining: 0, quarantined: 1 })
    expect(ledger.release(grant, 'lease')).toEqual({ ok: true, value: 'held' })
    expect(ledger.acquit(grant)).toMatchObject({ ok: false, fault: { code: 'still_held' } })
    expect(ledger.release(grant, 'step')).toEqual({ ok: true, value: 'idle' })
    expect(ledger.reserve(1).ok).toBe(false)
    expect(ledger.acquit(grant)).toEqual({ ok: true, value: 'home' })
    expect(ledger.reserve(1).ok).toBe(true)
  })

  it('is what a page must be in to be acquitted', () => {
    const ledger = ledgerOf(1)
    const [grant] = reserve(ledger, 1).grants as [PageGrant]
    expect(ledger.acquit(grant)).toMatchObject({ ok: false, fault: { code: 'wrong_state' } })
  })
})

describe('R7: the pool conserves', () => {
  it('under any schedule of operations, also stale and repeated ones', () => {
    const operation = fc.record({
      kind: fc.constantFrom('reserve', 'fill', 'seal', 'hold', 'release', 'quarantine', 'acquit'),
      pick: fc.nat(40),
      count: fc.integer({ min: 1, max: 4 }),
      holder: fc.constantFrom('lease', 'step', 'writer', 'reader', 'copy' as const),
    })
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 120 }), (operations) => {
        const ledger = ledgerOf(7)
        const handles: PageGrant[] = []
        for (const { kind, pick, count, holder } of operations) {
          const handle = handles[pick % Math.max(1, handles.length)]
          if (kind === 'reserve') {
            const reserved = ledger.reserve(count)
            if (reserved.ok) handles.push(...reserved.value.grants)
          } else if (handle === undefined) continue
          else if (kind === 'fill') ledger.fillAll(handle, ledger.rows(handle), count)
          else if (kind === 'seal') ledger.seal(handle, 4)
          else if (kind === 'hold' && holder !== 'lease') ledger.hold(handle, holder)
          else if (kind === 'release') ledger.release(handle, holder as 'lease')
          else if (kind === 'quarantine') ledger.quarantine(handle)
          else if (kind === 'acquit') ledger.acquit(handle)
          expect(ledger.audit()).toBeNull()
        }
        // No two live handles may name the same page and generation with different owners.
        const live = handles.filter((handle) => ledger.checkRead(pageTable([handle]), 0) === null)
        expect(new Set(live.map((handle) => handle.page)).size).toBe(live.length)
      }),
      { numRuns: 150 },
    )
  })

  it('or the ledger grants nothing any more', () => {
    let honest = true
    const ledger = ledgerOf(2, { ...fullPageFences, conserved: (counts) => honest && fullPageFences.conserved(counts) })
    const [grant] = reserve(ledger, 1).grants as [PageGrant]
    honest = false
    ledger.release(grant, 'lease')
    honest = true
    expect(ledger.audit()?.code).toBe('conservation')
    const refused = ledger.reserve(1)
    expect(refused.ok ? null : refused.fault.code).toBe('conservation')
    expect(ledger.counts().free).toBe(2)
  })
})
