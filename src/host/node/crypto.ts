import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { DigestTools, KeyedDigest, KeyLabel, Random, Secrets } from '../types.ts'

// For every page that crosses. In one call, and through a string: a Buffer's own memory takes longer to get than the digest.
const sha256 = (data: Uint8Array): Uint8Array => {
  const text = hash('sha256', data, 'binary')
  const digest = new Uint8Array(32)
  for (let i = 0; i < 32; i++) digest[i] = text.charCodeAt(i)
  return digest
}

const mac = (key: Uint8Array, data: Uint8Array): Uint8Array =>
  new Uint8Array(createHmac('sha256', key).update(data).digest())

const keyed = (key: Uint8Array): KeyedDigest => {
  const own = Uint8Array.from(key)
  return { mac: (data) => mac(own, data), sha256 }
}

const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)

export const nodeDigests: DigestTools = { sha256, mac, keyed, equal }

export const nodeRandom: Random = {
  bytes: (count) => new Uint8Array(randomBytes(count)),
  uint32: () => randomBytes(4).readUInt32LE(0),
}

/**
 * Sub-keys of one secret by HKDF-SHA-256 (RFC 5869), the label in `info`. Throws RangeError for a secret under 16 bytes:
 * such a secret would make every ticket and link guessable.
 */
export const createSecrets = (secret: Uint8Array): Secrets => {
  if (secret.length < 16) throw new RangeError(`a secret needs at least 16 bytes, got ${secret.length}`)
  const own = Uint8Array.from(secret)
  return {
    derive: (label: KeyLabel) => new Uint8Array(hkdfSync('sha256', own, new Uint8Array(0), `bulkhead/1/${label}`, 32)),
  }
}
