import { encode } from '../encode.ts'
import type { Sha256 } from '../lineage.ts'
import type { PrefixScope } from './scope.ts'

/** R9, as a value: what tells two prefixes apart. */
export interface PrefixKeys {
  /** 32 bytes over a scope; the beginning of every chain of its pages. */
  readonly scope: (scope: PrefixScope, sha256: Sha256) => Uint8Array
  /** 32 bytes of one full page: over its scope, the key of the page before (empty for the first) and its token ids. */
  readonly page: (scope: Uint8Array, before: Uint8Array, tokens: Int32Array, sha256: Sha256) => Uint8Array
  /** Are these the tokens that the page found under a key was computed from? */
  readonly matches: (wanted: Int32Array, held: Int32Array) => boolean
}

const utf8 = new TextEncoder()
const SCOPE_DOMAIN = 'bulkhead/prefix-scope/1'
const PAGE_DOMAIN = utf8.encode('bulkhead/prefix-page/1')

/**
 * Typed, length-prefixed and domain-separated: each part of a scope enters with its name and its kind before its value, so
 * an adapter is never a salt, an absent part never an empty one, and no border between parts can be moved.
 */
export const fullPrefixKeys: PrefixKeys = {
  scope: ({ tenant, model, weights, dtype, adapter, salt }, sha256) => {
    const parts = [
      ...['tenant', tenant.kind, tenant.kind === 'tenant' ? tenant.id : ''],
      ...['model', 'id', model],
      ...['weights', 'sha256', weights],
      ...['dtype', 'name', dtype],
      ...['adapter', adapter.kind, adapter.kind === 'adapter' ? adapter.id : ''],
      ...['salt', salt.kind, salt.kind === 'salt' ? salt.value : ''],
    ]
    return sha256(encode([SCOPE_DOMAIN, ...parts], []))
  },
  page: (scope, before, tokens, sha256) => sha256(encode([PAGE_DOMAIN, scope, before], tokens)),
  matches: (wanted, held) => wanted.length === held.length && wanted.every((id, i) => id === held[i]),
}
