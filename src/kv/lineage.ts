/** Where a page's bytes come from; a seal verifies under this lineage and no other (R8). */
export interface Lineage {
  /** The request and attempt until the page is published. */
  readonly namespace: string
  /** Digest over all token ids up to the page's last row, from `prefixDigests`. */
  readonly tokenDigest: Uint8Array
  readonly layer: number
  readonly ordinal: number
  readonly rows: number
}

/** Injected: SHA-256, synchronous, 32 bytes. */
export type Sha256 = (data: Uint8Array) => Uint8Array

const utf8 = new TextEncoder()
const KEY_DOMAIN = utf8.encode('bulkhead/lineage-key/1')
const PREFIX_DOMAIN = utf8.encode('bulkhead/prefix-digest/1')

/**
 * 32-byte key of a page's seal. The input is domain-separated, typed and length-prefixed: no two lineages share an encoding.
 */
export const lineageKey = (lineage: Lineage, sha256: Sha256): Uint8Array =>
  sha256(
    encode(KEY_DOMAIN, [
      utf8.encode(lineage.namespace),
      lineage.tokenDigest,
      uint32(lineage.layer),
      uint32(lineage.ordinal),
      uint32(lineage.rows),
    ]),
  )

/**
 * One digest per page over all ids up to its last row, as a chain: digest i covers digest i - 1 and the ids of page i, so a
 * prompt costs one pass. The last page may be partly filled; its ids are counted in, so a short page is another lineage.
 */
export const prefixDigests = (ids: Int32Array, pageSize: number, sha256: Sha256): readonly Uint8Array[] => {
  const digests: Uint8Array[] = []
  let previous: Uint8Array = new Uint8Array(0)
  for (let start = 0; start < ids.length; start += pageSize) {
    previous = sha256(encode(PREFIX_DOMAIN, [previous, littleEndian(ids.subarray(start, start + pageSize))]))
    digests.push(previous)
  }
  return digests
}

const encode = (domain: Uint8Array, fields: readonly Uint8Array[]): Uint8Array => {
  const all = [domain, ...fields]
  const out = new Uint8Array(all.reduce((sum, field) => sum + 4 + field.length, 0))
  const view = new DataView(out.buffer)
  let at = 0
  for (const field of all) {
    view.setUint32(at, field.length, true)
    out.set(field, at + 4)
    at += 4 + field.length
  }
  return out
}

const uint32 = (value: number): Uint8Array => {
  const out = new Uint8Array(4)
  new DataView(out.buffer).setUint32(0, value, true)
  return out
}

/** Byte order is fixed, whatever the machine's. */
const littleEndian = (ids: Int32Array): Uint8Array => {
  const out = new Uint8Array(ids.length * 4)
  const view = new DataView(out.buffer)
  for (let i = 0; i < ids.length; i++) view.setInt32(i * 4, ids[i]!, true)
  return out
}
