import type { TicketCrypto } from '../../admission/index.ts'
import { mix, putWord } from './hash.ts'

/**
 * Stands in for SHA-256 and HMAC: fast, of the same shape, and different for different input, which is all that the
 * simulated faults try. Nobody attacks it here.
 */
export const simCrypto: TicketCrypto = {
  sha256: (data) => expand(absorb(0x6a09e667, data)),
  mac: (data) => expand(absorb(0xbb67ae85, data)),
}

const absorb = (start: number, data: Uint8Array): number => {
  let hash = mix(start, data.length)
  for (let i = 0; i < data.length; i++) hash = Math.imul(hash ^ data[i]!, 0x01000193) ^ (hash >>> 17)
  return hash >>> 0
}

const expand = (hash: number): Uint8Array => {
  const bytes = new Uint8Array(32)
  let h = hash
  for (let i = 0; i < 32; i += 4) {
    h = mix(h, i)
    putWord(bytes, i, h)
  }
  return bytes
}
