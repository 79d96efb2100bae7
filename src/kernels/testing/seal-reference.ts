import { nhKey } from '../seal.ts'
import type { KernelShape } from '../types.ts'

const MASK32 = 2n ** 32n - 1n
const MASK64 = 2n ** 64n - 1n
const P = 2n ** 127n - 1n

/** The seal as its definition reads, in big integers; `data` is what `readRows` gives. */
export function referenceSeal(
  shape: KernelShape,
  sealKey: Uint8Array,
  lineageKey: Uint8Array,
  rows: number,
  layer: number,
  data: Uint8Array,
): Uint8Array {
  const key = words(nhKey(sealKey))
  const point = words(lineageKey.slice(0, 16)).reduce(
    (sum, word, i) => sum + ((word & 0xfffffffn) << BigInt(32 * i)),
    0n,
  )
  const pad = words(lineageKey.slice(16)).reduce((sum, word, i) => sum + (word << BigInt(32 * i)), 0n)
  const width = BigInt(shape.headDim + 65_536 * shape.kvHeads)
  let h = BigInt(rows) + (BigInt(layer) << 32n) + (BigInt(data.length) << 64n) + (width << 96n)
  h = (h * point) % P
  for (let at = 0; at < data.length; at += 1024) {
    const block = words(data.slice(at, at + 1024))
    h = ((h + nh(block, key) + (nh(block, key.slice(4)) << 64n)) * point) % P
  }
  const seal = (h + pad) & (2n ** 128n - 1n)
  return Uint8Array.from({ length: 16 }, (_, i) => Number((seal >> BigInt(8 * i)) & 255n))
}

/** NH with words i and i + 4 of every eight as partners, as in UMAC. */
function nh(block: readonly bigint[], key: readonly bigint[]): bigint {
  let sum = 0n
  for (let i = 0; i < block.length; i += 8) {
    for (let j = i; j < i + 4; j++) {
      sum += ((block[j]! + key[j]!) & MASK32) * ((block[j + 4]! + key[j + 4]!) & MASK32)
    }
  }
  return sum & MASK64
}

function words(bytes: Uint8Array): bigint[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: bytes.length / 4 }, (_, i) => BigInt(view.getUint32(i * 4, true)))
}
