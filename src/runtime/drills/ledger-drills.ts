import type { Fences } from '../../cluster/index.ts'
import { type FreeList, type PageGrant, PageLedger, pageTable, stackOfPages } from '../../kv/index.ts'
import { type DrillFinding, drillCase, findingOf } from './detectors.ts'

const PAGES = 4
const PAGE_SIZE = 4

/** R5, R6 and R7 in a ledger of the drill's own, under the fences that serve real requests. */
export const ledgerDrills = (fences: Fences['pages']): readonly (() => DrillFinding)[] => {
  const ledgerOf = (freeList?: FreeList): PageLedger =>
    new PageLedger({
      pages: PAGES,
      pageSize: PAGE_SIZE,
      layers: 1,
      fences,
      ...(freeList === undefined ? {} : { freeList }),
    })

  const staleHandle = (reuse: boolean): string => {
    const ledger = ledgerOf()
    const [grant] = reserved(ledger, 1)
    ledger.fillAll(grant!, 0, 2)
    if (reuse) {
      // Home, and the next owner's, with rows of its own: the free list hands out what came home last.
      ledger.release(grant!, 'lease')
      const [next] = reserved(ledger, 1)
      ledger.fillAll(next!, 0, 2)
    }
    return ledger.checkRead(pageTable([grant!]), 2)?.code ?? 'silent'
  }

  const unfilled = (rows: number): string => {
    const ledger = ledgerOf()
    const [grant] = reserved(ledger, 1)
    ledger.fillAll(grant!, 0, 2)
    return ledger.checkRead(pageTable([grant!]), rows)?.code ?? 'silent'
  }

  const freedWhile = (held: boolean): string => {
    const ledger = ledgerOf()
    const [grant] = reserved(ledger, 1)
    if (held) ledger.hold(grant!, 'writer')
    const departed = ledger.release(grant!, 'lease')
    return departed.ok ? departed.value : departed.fault.code
  }

  const moved = (freeList: FreeList): string => {
    const result = ledgerOf(freeList).reserve(1)
    return result.ok ? 'silent' : result.fault.code
  }

  const audited = (freeList: FreeList): string => ledgerOf(freeList).audit()?.code ?? 'silent'

  return [
    () =>
      findingOf('stale_handle', [
        drillCase('the present owner reads', 'silent', () => staleHandle(false)),
        drillCase('a page is read after it changed hands', 'stale_handle', () => staleHandle(true)),
      ]),
    () =>
      findingOf('unfilled_page', [
        drillCase('rows that stand are read', 'silent', () => unfilled(2)),
        drillCase('a row is read that was never written', 'unfilled', () => unfilled(3)),
      ]),
    () =>
      findingOf('fenced_free', [
        drillCase('a page nobody holds is given up', 'home', () => freedWhile(false)),
        drillCase('a page is given up while its writer is in flight', 'held', () => freedWhile(true)),
      ]),
    () =>
      findingOf('conservation', [
        drillCase('a page is taken from an honest free list', 'silent', () => moved(stackOfPages(PAGES))),
        drillCase('an honest free list is audited', 'silent', () => audited(stackOfPages(PAGES))),
        drillCase('a page is taken from a list that lost one', 'conservation', () => moved(shortList())),
        drillCase('a list that names a page twice is audited', 'conservation', () => audited(doubledList())),
      ]),
  ]
}

const reserved = (ledger: PageLedger, count: number): readonly PageGrant[] => {
  const result = ledger.reserve(count)
  if (!result.ok) throw new Error(result.fault.code)
  return result.value.grants
}

/** Forgets one page: the counts add up no more. */
const shortList = (): FreeList => {
  const list = stackOfPages(PAGES)
  list.pop()
  return list
}

/** As long as it should be, with one page named in another's place. */
const doubledList = (): FreeList => {
  const list = stackOfPages(PAGES)
  const first = list.pop()!
  list.pop()
  list.push(first)
  list.push(first)
  return list
}
