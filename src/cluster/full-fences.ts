import { TicketBook } from '../admission/index.ts'
import { fullPageFences, fullPrefixKeys, lineageKey, publishAfterCommit } from '../kv/index.ts'
import type { ContractFence, Fences, IdentityFence, SealFence, TicketFence } from './fences.ts'

/** R3: forged, expired, mismatched and reused tickets are refused; each ticket admits once per leg. */
const ticket: TicketFence = (leg, crypto) => {
  const book = new TicketBook(crypto)
  return {
    admit: (claimed, { ids, model, weights, requestId, attempt, now }) =>
      book.admit(claimed, { ids, model, weights, requestId, attempt, now, leg }),
  }
}

/** R4: the manifest and what arrived must both equal the contract, page by page and layer by layer. */
const contract: ContractFence = ({ pageSize, layers, promptRows, rowsOf, manifest, tokenDigest }) => {
  const pages = Math.ceil(promptRows / pageSize)
  // The pages first: a gap names its page, a wrong total does not.
  for (let ordinal = 0; ordinal < pages; ordinal++) {
    const expected = Math.min(pageSize, promptRows - ordinal * pageSize)
    for (let layer = 0; layer < layers; layer++) {
      const received = rowsOf(ordinal, layer)
      if (received !== expected) return { what: 'page_rows', ordinal, layer, expected, received }
    }
  }
  const totals = { ordinal: null, layer: null }
  if (manifest.pages !== pages) return { what: 'pages', ...totals, expected: pages, received: manifest.pages }
  if (manifest.rows !== promptRows) return { what: 'rows', ...totals, expected: promptRows, received: manifest.rows }
  if (manifest.layers !== layers) return { what: 'layers', ...totals, expected: layers, received: manifest.layers }
  return manifest.tokenDigest === tokenDigest ? null : { what: 'digest', ...totals, expected: 0, received: 0 }
}

/** R8: every page travels sealed under its lineage, and every contracted page must have arrived with a seal that verifies. */
const seals: SealFence = {
  key: lineageKey,
  missing: (pages, layers, verified) => {
    for (let ordinal = 0; ordinal < pages; ordinal++)
      for (let layer = 0; layer < layers; layer++)
        if (!verified(ordinal, layer)) return { what: 'seal', ordinal, layer, expected: 1, received: 0 }
    return null
  },
}

/** `integrity: tags`: pages travel without seals; every other rule stands. */
const unsealed: SealFence = { key: () => null, missing: () => null }

/** R10: the request, the attempt and, where rows of a batch are named, the sequence. */
const identity: IdentityFence = (expected, named) =>
  expected.requestId === named.requestId && expected.attempt === named.attempt && expected.sequence === named.sequence

/**
 * What a server runs with. `integrity: 'tags'` is the one lesser set an operator may choose; `/ready`, receipts and
 * `docs/rules.md` name it where it is in use.
 */
export const fullFences = (integrity: 'full' | 'tags' = 'full'): Fences => ({
  ticket,
  contract,
  pages: fullPageFences,
  kernel: { tags: true, filled: true, guards: true },
  seals: integrity === 'full' ? seals : unsealed,
  key: fullPrefixKeys,
  publish: publishAfterCommit,
  identity,
})
