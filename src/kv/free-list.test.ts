import { describe, expect, it } from 'vitest'
import { type FreeList, fullPageFences, PageLedger, stackOfPages } from './index.ts'

const ledgerOver = (change: (honest: FreeList) => Partial<FreeList>): PageLedger => {
  const honest = stackOfPages(2)
  const freeList: FreeList = Object.defineProperties(honest, Object.getOwnPropertyDescriptors(change(stackOfPages(2))))
  return new PageLedger({ pages: 2, pageSize: 4, layers: 1, fences: fullPageFences, freeList })
}

describe('R7: a free list that is wrong', () => {
  it('and loses a page: nothing is granted any more', () => {
    const ledger = ledgerOver(() => ({ push: () => undefined }))
    const reserved = ledger.reserve(1)
    if (reserved.ok) ledger.release(reserved.value.grants[0]!, 'lease')
    expect(reserved.ok).toBe(true)
    expect(ledger.reserve(1)).toMatchObject({ ok: false, fault: { code: 'conservation' } })
  })

  it('and holds a page twice: the audit names it', () => {
    const ledger = ledgerOver(() => ({ list: () => Uint32Array.of(0, 0) }))
    expect(ledger.audit()).toMatchObject({ code: 'conservation', message: 'page 0 is on the free list twice' })
  })
})
