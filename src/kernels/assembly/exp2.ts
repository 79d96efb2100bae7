// 2^x on four lanes for x <= 0, within 2 ulp; exactly 1 at 0, exactly 0 below -126.5 (so a masked score of -inf weighs
// nothing), NaN stays NaN. The reduction x - round(x) is exact, so only the polynomial and the last product round.
// Coefficients: Chebyshev interpolation of (2^x - 1) / x on [-1/2, 1/2], so the constant term is 1; error 1e-8 before rounding.

const C1: f32 = 0.6931471824645996
const C2: f32 = 0.24022650718688965
const C3: f32 = 0.055503569543361664
const C4: f32 = 0.009618083015084267
const C5: f32 = 0.0013390863314270973
const C6: f32 = 0.00015453163359779865

@inline
export function exp2(x: v128): v128 {
  const y = f32x4.pmax(x, f32x4.splat(-127))
  const n = f32x4.nearest(y)
  const r = f32x4.sub(y, n)
  let p = f32x4.splat(C6)
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(C5))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(C4))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(C3))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(C2))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(C1))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1))
  const scale = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23)
  return f32x4.mul(p, scale)
}
