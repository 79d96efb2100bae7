import { describe, expect, it } from 'vitest'
import { fullPageFences, type HolderKind, type PageGrant, PageLedger, pageTable } from './index.ts'

const fullPage = (layers = 2) => {
  const ledger = new PageLedger({ pages: 2, pageSize: 4, layers, fences: fullPageFences })
  const reserved = ledger.reserve(1)
  if (!reserved.ok) throw new Error(reserved.fault.message)
  const [grant] = reserved.value.grants as [PageGrant]
  ledger.fillAll(grant, 0, 4)
  ledger.seal(grant, 4)
  return { ledger, grant }
}
const codeOf = (result: ReturnType<PageLedger['transfer']>): string | null => (result.ok ? null : result.fault.code)

describe('a page that changes hands with its rows', () => {
  it('has an owner of its own and a new generation; its maker’s handle is stale, its rows stand', () => {
    const { ledger, grant } = fullPage()
    const transferred = ledger.transfer(grant)
    if (!transferred.ok) throw new Error(transferred.fault.message)
    const view = transferred.value
    expect(view).toMatchObject({ access: 'read', page: grant.page })
    expect(view.owner).not.toBe(grant.owner)
    expect(view.generation).not.toBe(grant.generation)
    expect(ledger.ownerOf(view.page)).toBe(view.owner)
    expect(ledger.checkRead(pageTable([view]), 4)).toBeNull()
    expect(ledger.checkRead(pageTable([grant]), 4)?.code).toBe('stale_handle')
    expect(ledger.fill(grant, 0, 4, 1)?.code).toBe('stale_handle')
    expect(codeOf(ledger.transfer(grant))).toBe('stale_handle')
    expect(ledger.audit()).toBeNull()
    expect(ledger.release(view, 'lease')).toEqual({ ok: true, value: 'home' })
    expect(ledger.counts()).toMatchObject({ free: 2, owned: 0 })
  })

  it('is never the owner of another page', () => {
    const { ledger, grant } = fullPage()
    const transferred = ledger.transfer(grant)
    const next = ledger.reserve(1)
    if (!transferred.ok || !next.ok) throw new Error('refused')
    expect(next.value.owner).not.toBe(transferred.value.owner)
  })

  for (const kind of ['step', 'writer', 'reader', 'copy'] satisfies HolderKind[])
    it(`waits while a ${kind} holds it (R6)`, () => {
      const { ledger, grant } = fullPage()
      ledger.hold(grant, kind)
      expect(codeOf(ledger.transfer(grant))).toBe('still_held')
      ledger.release(grant, kind)
      expect(codeOf(ledger.transfer(grant))).toBe(null)
    })

  it('stands in full in every layer (R5), and is neither given up nor suspect', () => {
    const ledger = new PageLedger({ pages: 3, pageSize: 4, layers: 2, fences: fullPageFences })
    const reserved = ledger.reserve(3)
    if (!reserved.ok) throw new Error(reserved.fault.message)
    const [short, suspect, gone] = reserved.value.grants as [PageGrant, PageGrant, PageGrant]
    ledger.fill(short, 0, 0, 4)
    ledger.fill(short, 1, 0, 3)
    ledger.fillAll(suspect, 0, 4)
    ledger.quarantine(suspect)
    ledger.fillAll(gone, 0, 4)
    ledger.hold(gone, 'reader')
    ledger.release(gone, 'lease')
    expect([short, suspect, gone].map((grant) => codeOf(ledger.transfer(grant)))).toEqual([
      'unfilled',
      'wrong_state',
      'wrong_state',
    ])
  })
})
