// Scores: dot products of packed queries with the keys of one page, four keys at a time.
//
// One order of arithmetic for every caller: four lanes over the dimensions in ascending order, then (0 + 2) + (1 + 3).
// Tiles only decide how many independent sums run side by side. Loops are not unrolled: V8 then hoists the loads and spills.
//
// The type argument stands for the head width, because only `sizeof` is a constant that load offsets accept:
// u8, u16, u32 mean 32, 64, 128 floats, rows `sizeof<T>() * 128` bytes apart.
import { SCORE_ROW, headBytes } from './layout'

/** Lane sums of four accumulators, side by side. */
@inline
function reduce(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7))
  const cd = f32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7))
  return f32x4.add(v128.shuffle<i64>(ab, cd, 0, 2), v128.shuffle<i64>(ab, cd, 1, 3))
}

@inline
function mac(sum: v128, a: v128, b: v128): v128 {
  return f32x4.add(sum, f32x4.mul(a, b))
}

/** Two neighbouring queries against `groups` × 4 keys. */
export function scorePair<T>(q: usize, k: usize, groups: u32, s: usize): void {
  for (; groups; groups--) {
    let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0
    let p = q
    for (const end = k + sizeof<T>() * 128; k != end; k += 16, p += 16) {
      const x = v128.load(p), y = v128.load(p, sizeof<T>() * 128)
      let w = v128.load(k)
      a0 = mac(a0, x, w)
      b0 = mac(b0, y, w)
      w = v128.load(k, sizeof<T>() * 128)
      a1 = mac(a1, x, w)
      b1 = mac(b1, y, w)
      w = v128.load(k, sizeof<T>() * 256)
      a2 = mac(a2, x, w)
      b2 = mac(b2, y, w)
      w = v128.load(k, sizeof<T>() * 384)
      a3 = mac(a3, x, w)
      b3 = mac(b3, y, w)
    }
    v128.store(s, reduce(a0, a1, a2, a3))
    v128.store(s, reduce(b0, b1, b2, b3), SCORE_ROW)
    k += sizeof<T>() * 384
    s += 16
  }
}

/** One query against `groups` × 4 keys. */
export function scoreOne<T>(q: usize, k: usize, groups: u32, s: usize): void {
  for (; groups; groups--) {
    let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0
    let p = q
    for (const end = k + sizeof<T>() * 128; k != end; k += 16, p += 16) {
      const x = v128.load(p)
      a0 = mac(a0, x, v128.load(k))
      a1 = mac(a1, x, v128.load(k, sizeof<T>() * 128))
      a2 = mac(a2, x, v128.load(k, sizeof<T>() * 256))
      a3 = mac(a3, x, v128.load(k, sizeof<T>() * 384))
    }
    v128.store(s, reduce(a0, a1, a2, a3))
    k += sizeof<T>() * 384
    s += 16
  }
}

/** One query against `groups` × 4 keys, any head width that is a multiple of 4. */
export function scoreAny(q: usize, k: usize, groups: u32, s: usize): void {
  const row = headBytes
  for (; groups; groups--) {
    let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0
    let k1 = k + row, k2 = k1 + row, k3 = k2 + row
    const next = k3 + row
    for (let i: usize = 0; i < row; i += 16) {
      const x = v128.load(q + i)
      a0 = mac(a0, x, v128.load(k + i))
      a1 = mac(a1, x, v128.load(k1 + i))
      a2 = mac(a2, x, v128.load(k2 + i))
      a3 = mac(a3, x, v128.load(k3 + i))
    }
    v128.store(s, reduce(a0, a1, a2, a3))
    k = next
    s += 16
  }
}
