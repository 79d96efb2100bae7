import { encode } from './encode.ts'
import { LayerKeys } from './layer-keys.ts'

/** Where a page's bytes come from; a seal verifies under this lineage and no other (R8). */
export interface Lineage {
  /** The request and attempt until the page is published, `PUBLISHED_NAMESPACE` afterwards. */
  readonly namespace: string
  /** Digest over all token ids up to the page's last row, from `prefixDigests`; of a published page its R9 key. */
  readonly tokenDigest: Uint8Array
  readonly layer: number
  readonly ordinal: number
  readonly rows: number
}

/** Injected: SHA-256, synchronous, 32 bytes. */
export type Sha256 = (data: Uint8Array) => Uint8Array

const utf8 = new TextEncoder()
const KEY_DOMAIN = utf8.encode('bulkhead/lineage-key/2')
const PREFIX_DOMAIN = utf8.encode('bulkhead/prefix-digest/1')

/**
 * 32-byte key of a page's seal in one layer. The input is domain-separated, typed and length-prefixed: no two lineages share
 * an encoding. The page's own key is derived once and stretched over the layers; it is remembered for as long as the caller
 * keeps `tokenDigest`, which must not change.
 */
export const lineageKey = ({ namespace, tokenDigest, layer, ordinal, rows }: Lineage, sha256: Sha256): Uint8Array => {
  let page = pages.get(tokenDigest)
  if (page?.namespace !== namespace || page.ordinal !== ordinal || page.rows !== rows || page.sha256 !== sha256) {
    const key = sha256(encode([KEY_DOMAIN, namespace, tokenDigest], [ordinal, rows]))
    page = { namespace, ordinal, rows, sha256, keys: new LayerKeys(key) }
    pages.set(tokenDigest, page)
  }
  return page.keys.of(layer)
}

const pages = new WeakMap<
  Uint8Array,
  {
    readonly namespace: string
    readonly ordinal: number
    readonly rows: number
    readonly sha256: Sha256
    readonly keys: LayerKeys
  }
>()

/**
 * One digest per page over all ids up to its last row, as a chain: digest i covers digest i - 1 and the ids of page i, so a
 * prompt costs one pass. The last page may be partly filled; its ids are counted in, so a short page is another lineage.
 */
export const prefixDigests = (ids: Int32Array, pageSize: number, sha256: Sha256): readonly Uint8Array[] => {
  const digests: Uint8Array[] = []
  let previous: Uint8Array = new Uint8Array(0)
  for (let start = 0; start < ids.length; start += pageSize) {
    previous = sha256(encode([PREFIX_DOMAIN, previous], ids.subarray(start, start + pageSize)))
    digests.push(previous)
  }
  return digests
}

/**
 * Namespace of every published page. Its R9 key takes the place of the token digest: it covers all tokens up to the page's end,
 * and whose they are. No request's namespace is like it: those have a slash.
 */
export const PUBLISHED_NAMESPACE = 'published'
