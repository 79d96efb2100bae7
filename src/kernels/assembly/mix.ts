// Values: adds rows from … to - 1 of one block, weighted, onto the accumulators of 1, 2 or 4 neighbouring queries.
//
// One order of arithmetic for every caller: first the running sum is rescaled (once per block, when `from` is 0), then rows
// are added one by one in ascending order. Tiles only decide how many independent sums run side by side (not unrolled: see dot.ts).
// `values` lists the addresses of V in each page of the block; `weights` is the query's row of 128; type arguments as in dot.ts.
import { SCORE_ROW, headBytes, pageShift, pageSize } from './layout'

@inline
function mac(sum: v128, a: v128, b: v128): v128 {
  return f32x4.add(sum, f32x4.mul(a, b))
}

@inline
function carried(at: usize, from: u32, correction: usize): v128 {
  const sum = v128.load(at)
  return from ? sum : f32x4.mul(sum, v128.load32_splat(correction))
}

/** Four queries, two vectors of the head's width at a time. */
export function mixFour<T>(sums: usize, weights: usize, values: usize, from: u32, to: u32, correction: usize): void {
  for (let d: usize = 0; d < sizeof<T>() * 128; d += 32) {
    const at = sums + d
    let a0 = carried(at, from, correction), a1 = carried(at + 16, from, correction)
    let b0 = carried(at + sizeof<T>() * 128, from, correction + 4), b1 = carried(at + sizeof<T>() * 128 + 16, from, correction + 4)
    let c0 = carried(at + sizeof<T>() * 256, from, correction + 8), c1 = carried(at + sizeof<T>() * 256 + 16, from, correction + 8)
    let d0 = carried(at + sizeof<T>() * 384, from, correction + 12), d1 = carried(at + sizeof<T>() * 384 + 16, from, correction + 12)
    let w = weights + (<usize>from << 2)
    let page = values + (<usize>(from >> pageShift) << 2)
    let row = from & (pageSize - 1)
    for (let left = to - from; left;) {
      let n = min(left, pageSize - row)
      let v = <usize>load<u32>(page) + <usize>row * sizeof<T>() * 128 + d
      left -= n
      for (; n; n--) {
        const x = v128.load(v), y = v128.load(v, 16)
        let p = v128.load32_splat(w)
        a0 = mac(a0, p, x)
        a1 = mac(a1, p, y)
        p = v128.load32_splat(w, SCORE_ROW)
        b0 = mac(b0, p, x)
        b1 = mac(b1, p, y)
        p = v128.load32_splat(w, SCORE_ROW * 2)
        c0 = mac(c0, p, x)
        c1 = mac(c1, p, y)
        p = v128.load32_splat(w, SCORE_ROW * 3)
        d0 = mac(d0, p, x)
        d1 = mac(d1, p, y)
        v += sizeof<T>() * 128
        w += 4
      }
      page += 4
      row = 0
    }
    v128.store(at, a0)
    v128.store(at, a1, 16)
    v128.store(at, b0, sizeof<T>() * 128)
    v128.store(at, b1, sizeof<T>() * 128 + 16)
    v128.store(at, c0, sizeof<T>() * 256)
    v128.store(at, c1, sizeof<T>() * 256 + 16)
    v128.store(at, d0, sizeof<T>() * 384)
    v128.store(at, d1, sizeof<T>() * 384 + 16)
  }
}

/** Two queries, four vectors of the head's width at a time. */
export function mixTwo<T>(sums: usize, weights: usize, values: usize, from: u32, to: u32, correction: usize): void {
  for (let d: usize = 0; d < sizeof<T>() * 128; d += 64) {
    const at = sums + d
    let a0 = carried(at, from, correction), a1 = carried(at + 16, from, correction)
    let a2 = carried(at + 32, from, correction), a3 = carried(at + 48, from, correction)
    const other = at + sizeof<T>() * 128
    let b0 = carried(other, from, correction + 4), b1 = carried(other + 16, from, correction + 4)
    let b2 = carried(other + 32, from, correction + 4), b3 = carried(other + 48, from, correction + 4)
    let w = weights + (<usize>from << 2)
    let page = values + (<usize>(from >> pageShift) << 2)
    let row = from & (pageSize - 1)
    for (let left = to - from; left;) {
      let n = min(left, pageSize - row)
      let v = <usize>load<u32>(page) + <usize>row * sizeof<T>() * 128 + d
      left -= n
      for (; n; n--) {
        const p = v128.load32_splat(w), q = v128.load32_splat(w, SCORE_ROW)
        let x = v128.load(v)
        a0 = mac(a0, p, x)
        b0 = mac(b0, q, x)
        x = v128.load(v, 16)
        a1 = mac(a1, p, x)
        b1 = mac(b1, q, x)
        x = v128.load(v, 32)
        a2 = mac(a2, p, x)
        b2 = mac(b2, q, x)
        x = v128.load(v, 48)
        a3 = mac(a3, p, x)
        b3 = mac(b3, q, x)
        v += sizeof<T>() * 128
        w += 4
      }
      page += 4
      row = 0
    }
    v128.store(at, a0)
    v128.store(at, a1, 16)
    v128.store(at, a2, 32)
    v128.store(at, a3, 48)
    v128.store(other, b0)
    v128.store(other, b1, 16)
    v128.store(other, b2, 32)
    v128.store(other, b3, 48)
  }
}

/** One query, eight vectors of the head's width at a time. */
export function mixOne<T>(sums: usize, weights: usize, values: usize, from: u32, to: u32, correction: usize): void {
  for (let d: usize = 0; d < sizeof<T>() * 128; d += 128) {
    const at = sums + d
    let a0 = carried(at, from, correction), a1 = carried(at + 16, from, correction)
    let a2 = carried(at + 32, from, correction), a3 = carried(at + 48, from, correction)
    let a4 = carried(at + 64, from, correction), a5 = carried(at + 80, from, correction)
    let a6 = carried(at + 96, from, correction), a7 = carried(at + 112, from, correction)
    let w = weights + (<usize>from << 2)
    let page = values + (<usize>(from >> pageShift) << 2)
    let row = from & (pageSize - 1)
    for (let left = to - from; left;) {
      let n = min(left, pageSize - row)
      let v = <usize>load<u32>(page) + <usize>row * sizeof<T>() * 128 + d
      left -= n
      for (; n; n--) {
        const p = v128.load32_splat(w)
        a0 = mac(a0, p, v128.load(v))
        a1 = mac(a1, p, v128.load(v, 16))
        a2 = mac(a2, p, v128.load(v, 32))
        a3 = mac(a3, p, v128.load(v, 48))
        a4 = mac(a4, p, v128.load(v, 64))
        a5 = mac(a5, p, v128.load(v, 80))
        a6 = mac(a6, p, v128.load(v, 96))
        a7 = mac(a7, p, v128.load(v, 112))
        v += sizeof<T>() * 128
        w += 4
      }
      page += 4
      row = 0
    }
    v128.store(at, a0)
    v128.store(at, a1, 16)
    v128.store(at, a2, 32)
    v128.store(at, a3, 48)
    v128.store(at, a4, 64)
    v128.store(at, a5, 80)
    v128.store(at, a6, 96)
    v128.store(at, a7, 112)
  }
}

/** One query, any head width that is a multiple of 4. */
export function mixAny(sums: usize, weights: usize, values: usize, from: u32, to: u32, correction: usize): void {
  for (let d: usize = 0; d < headBytes; d += 16) {
    let a = carried(sums + d, from, correction)
    let w = weights + (<usize>from << 2)
    let page = values + (<usize>(from >> pageShift) << 2)
    let row = from & (pageSize - 1)
    for (let left = to - from; left;) {
      let n = min(left, pageSize - row)
      let v = <usize>load<u32>(page) + <usize>row * headBytes + d
      left -= n
      for (; n; n--) {
        a = mac(a, v128.load32_splat(w), v128.load(v))
        v += headBytes
        w += 4
      }
      page += 4
      row = 0
    }
    v128.store(sums + d, a)
  }
}
