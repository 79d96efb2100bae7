// Rotary embedding over interleaved pairs (x0, x1), (x2, x3), … as in llama.cpp's `llama` architecture.
// A table row holds cos, sin, cos, sin, … of one position, computed by the host in double precision.
import { headBytes, ropeFloats } from './layout'

/** Rotates one head's row, multiplies by `scale` and stores it; dimensions past the table are only scaled. */
@inline
export function rotate(source: usize, target: usize, table: usize, scale: v128): void {
  const rotated = <usize>ropeFloats << 2
  const sign = f32x4(-1, 1, -1, 1)
  let i: usize = 0
  for (; i < rotated; i += 16) {
    const x = v128.load(source + i)
    const t = v128.load(table + i)
    const c = v128.shuffle<i32>(t, t, 0, 0, 2, 2)
    const s = f32x4.mul(v128.shuffle<i32>(t, t, 1, 1, 3, 3), sign)
    const y = f32x4.add(f32x4.mul(x, c), f32x4.mul(v128.shuffle<i32>(x, x, 1, 0, 3, 2), s))
    v128.store(target + i, f32x4.mul(y, scale))
  }
  for (; i < headBytes; i += 16) v128.store(target + i, f32x4.mul(v128.load(source + i), scale))
}
