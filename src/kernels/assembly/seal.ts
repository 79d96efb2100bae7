// Seals: NH over 1 KB blocks, twice (Toeplitz shift of 16 bytes, as in UMAC, RFC 4418), chained by a polynomial modulo
// 2^127 - 1. The bound is derived in ../seal.ts, the same function in big integers in ../testing/seal-reference.ts.

const NH_BLOCK: usize = 1024

// The running polynomial: four limbs of 32 bits, the lowest may reach 33.
let h0: u64 = 0
let h1: u64 = 0
let h2: u64 = 0
let h3: u64 = 0
// The evaluation point: four limbs of 28 bits, so that no column sum overflows 64 bits.
let k0: u64 = 0
let k1: u64 = 0
let k2: u64 = 0
let k3: u64 = 0

/** h = (h + c) * k, partly reduced: 2^128 = 2 modulo 2^127 - 1. */
@inline
function absorb(low: u64, high: u64): void {
  const a0 = h0 + (low & 0xffffffff), a1 = h1 + (low >> 32), a2 = h2 + (high & 0xffffffff), a3 = h3 + (high >> 32)
  const d1 = k1 << 1, d2 = k2 << 1, d3 = k3 << 1
  const c0 = a0 * k0 + a1 * d3 + a2 * d2 + a3 * d1
  const c1 = a0 * k1 + a1 * k0 + a2 * d3 + a3 * d2 + (c0 >> 32)
  const c2 = a0 * k2 + a1 * k1 + a2 * k0 + a3 * d3 + (c1 >> 32)
  const c3 = a0 * k3 + a1 * k2 + a2 * k1 + a3 * k0 + (c2 >> 32)
  const carry = (c0 & 0xffffffff) + ((c3 >> 32) << 1)
  h0 = carry & 0xffffffff
  h1 = (c1 & 0xffffffff) + (carry >> 32)
  h2 = c2 & 0xffffffff
  h3 = c3 & 0xffffffff
}

/** Fully reduces modulo 2^127 - 1 and leaves two words: low in h0, high in h1. */
function settle(): void {
  for (let i = 0; i < 3; i++) {
    h1 += h0 >> 32
    h2 += h1 >> 32
    h3 += h2 >> 32
    h0 = (h0 & 0xffffffff) + (h3 >> 31)
    h1 &= 0xffffffff
    h2 &= 0xffffffff
    h3 &= 0x7fffffff
  }
  let low = h0 | (h1 << 32)
  let high = h2 | (h3 << 32)
  if (low == 0xffffffffffffffff && high == 0x7fffffffffffffff) low = high = 0
  h0 = low
  h1 = high
}

/**
 * `bytes` (a multiple of 32) at `data`; `nhKey` holds 1,040 bytes, `lineage` 32 (point, pad). The header words are the first
 * coefficient; the last is not 0 and below 2^31. Stores 16 bytes at `out`.
 */
export function seal(
  data: usize, bytes: usize, nhKey: usize, lineage: usize, header0: u32, header1: u32, header2: u32, header3: u32, out: usize
): void {
  k0 = load<u32>(lineage) & 0x0fffffff
  k1 = load<u32>(lineage, 4) & 0x0fffffff
  k2 = load<u32>(lineage, 8) & 0x0fffffff
  k3 = load<u32>(lineage, 12) & 0x0fffffff
  h0 = h1 = h2 = h3 = 0
  absorb(<u64>header0 | (<u64>header1 << 32), <u64>header2 | (<u64>header3 << 32))
  while (bytes) {
    const length = min(bytes, NH_BLOCK)
    const end = nhKey + length
    let s = i64x2.splat(0), t = s, u = s, v = s
    let key = v128.load(nhKey)
    for (let at = nhKey; at != end; at += 32, data += 32) {
      const x = v128.load(data), y = v128.load(data, 16)
      const key1 = v128.load(at, 16), key2 = v128.load(at, 32)
      const p = i32x4.add(x, key), q = i32x4.add(y, key1)
      s = i64x2.add(s, i64x2.extmul_low_i32x4_u(p, q))
      t = i64x2.add(t, i64x2.extmul_high_i32x4_u(p, q))
      const r = i32x4.add(x, key1), w = i32x4.add(y, key2)
      u = i64x2.add(u, i64x2.extmul_low_i32x4_u(r, w))
      v = i64x2.add(v, i64x2.extmul_high_i32x4_u(r, w))
      key = key2
    }
    s = i64x2.add(s, t)
    u = i64x2.add(u, v)
    absorb(
      <u64>i64x2.extract_lane(s, 0) + <u64>i64x2.extract_lane(s, 1),
      <u64>i64x2.extract_lane(u, 0) + <u64>i64x2.extract_lane(u, 1)
    )
    bytes -= length
  }
  settle()
  const low = h0 + load<u64>(lineage, 16)
  store<u64>(out, low)
  store<u64>(out, h1 + load<u64>(lineage, 24) + u64(low < h0), 8)
}
