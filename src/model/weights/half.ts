/** IEEE 754 half precision by table: 65,536 entries, made on first use. */
let table: Float32Array | null = null

export function halfTable(): Float32Array {
  table ??= Float32Array.from({ length: 65_536 }, (_, bits) => halfToNumber(bits))
  return table
}

function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
