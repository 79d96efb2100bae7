import type { Sha256 } from '../lineage.ts'
import type { PrefixKeys } from './key.ts'
import { groupOf, type PrefixScope } from './scope.ts'

/** One full page of a prompt as the index knows it. */
export interface PrefixPage {
  /** 32 bytes (R9). */
  readonly key: Uint8Array
  readonly group: string
  readonly ordinal: number
  readonly tokens: Int32Array
}

/**
 * The full pages of a prompt, each with its key. Pages that lie wholly within a public prefix, from the first token on, belong
 * to everybody; a row depends on the tokens before it and on nothing else, so they hold nothing but what the operator published.
 */
export const prefixPages = (
  ids: Int32Array,
  pageSize: number,
  scope: PrefixScope,
  publicPrefixes: readonly Int32Array[],
  keys: PrefixKeys,
  sha256: Sha256,
): readonly PrefixPage[] => {
  const count = Math.floor(ids.length / pageSize)
  if (count === 0) return []
  const common = publicPrefixes.reduce((most, prefix) => Math.max(most, commonLength(ids, prefix)), 0)
  const publicPages = Math.floor(common / pageSize)
  const everybody: PrefixScope = { ...scope, tenant: { kind: 'public' } }
  const publicRoot = publicPages > 0 ? keys.scope(everybody, sha256) : null
  const ownRoot = keys.scope(scope, sha256)
  const pages: PrefixPage[] = []
  let before: Uint8Array = new Uint8Array(0)
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const shared = publicRoot !== null && ordinal < publicPages
    const tokens = ids.subarray(ordinal * pageSize, (ordinal + 1) * pageSize)
    before = keys.page(shared ? publicRoot : ownRoot, before, tokens, sha256)
    pages.push({ key: before, group: groupOf(shared ? everybody.tenant : scope.tenant), ordinal, tokens })
  }
  return pages
}

const commonLength = (a: Int32Array, b: Int32Array): number => {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a[length] === b[length]) length++
  return length
}
