import { chachaBlock } from './chacha20.ts'
import { encode } from './encode.ts'

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
const NAMESPACE_DOMAIN = utf8.encode('bulkhead/lineage-namespace/1')
const PREFIX_DOMAIN = utf8.encode('bulkhead/prefix-digest/1')

/**
 * 32-byte key of a page's seal in one layer: the first half of a block of ChaCha20 (RFC 8439) with the layer for a counter and
 * (ordinal, rows, 0) for a nonce, under the namespace's SHA-256 xor the token digest. Both of these are digests, each of a
 * domain of its own, so two pairs of them have one sum with probability 2^-256; layer, ordinal and rows (each below 2^32) have
 * words of their own, and ChaCha20 is a pseudo-random function of them. There is a key for every page frame on both sides, and
 * one more SHA-256 for each would cost ten times as much.
 */
export const lineageKey = ({ namespace, tokenDigest, layer, ordinal, rows }: Lineage, sha256: Sha256): Uint8Array => {
  if (tokenDigest.length !== 32) throw new RangeError('a token digest is 32 bytes')
  const mask = namespaceDigest(namespace, sha256)
  for (let i = 0; i < 8; i++) key[i] = wordAt(mask, i) ^ wordAt(tokenDigest, i)
  nonce[0] = ordinal
  nonce[1] = rows
  chachaBlock(key, layer, nonce, block)
  return firstHalf(block)
}

const key = new Int32Array(8)
const nonce = new Int32Array(3)
const block = new Int32Array(16)

const wordAt = (bytes: Uint8Array, i: number): number =>
  bytes[4 * i]! | (bytes[4 * i + 1]! << 8) | (bytes[4 * i + 2]! << 16) | (bytes[4 * i + 3]! << 24)

/** Not by way of `buffer`: asking for that moves a small array's bytes off the heap. */
const firstHalf = (words: Int32Array): Uint8Array => {
  const bytes = new Uint8Array(32)
  for (let i = 0; i < 8; i++) {
    const word = words[i]!
    bytes[4 * i] = word
    bytes[4 * i + 1] = word >>> 8
    bytes[4 * i + 2] = word >>> 16
    bytes[4 * i + 3] = word >>> 24
  }
  return bytes
}

/** Of the last namespace asked for: a request's pages come and go one after the other. */
let last: { readonly namespace: string; readonly sha256: Sha256; readonly digest: Uint8Array } | null = null

const namespaceDigest = (namespace: string, sha256: Sha256): Uint8Array => {
  if (last?.namespace !== namespace || last.sha256 !== sha256) {
    last = { namespace, sha256, digest: sha256(encode([NAMESPACE_DOMAIN, namespace], [])) }
  }
  return last.digest
}

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
