/** The K formats: 256 weights a block, 16 or 32 of them under one small scale. After ggml-quants.c, layout for layout. */
import { halfTable } from './half.ts'

/** 16 scales and minimums of 4 bits, then 64 bytes of 2-bit weights, then d and dmin. */
export function dequantizeQ2K(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 84, to += 256) {
    const d = half[source[at + 80]! | (source[at + 81]! << 8)]!
    const dmin = half[source[at + 82]! | (source[at + 83]! << 8)]!
    for (let i = 0; i < 256; i++) {
      const scales = source[at + (i >> 4)]!
      const byte = source[at + 16 + ((i >> 7) << 5) + (i & 31)]!
      const q = (byte >> (((i >> 5) & 3) << 1)) & 3
      target[to + i] = d * (scales & 15) * q - dmin * (scales >> 4)
    }
  }
}

/** 32 bytes of high bits, 64 bytes of 2 low bits, 12 bytes of 6-bit scales, d. */
export function dequantizeQ3K(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 110, to += 256) {
    const d = half[source[at + 108]! | (source[at + 109]! << 8)]!
    for (let i = 0; i < 256; i++) {
      const low = (source[at + 32 + ((i >> 7) << 5) + (i & 31)]! >> (((i >> 5) & 3) << 1)) & 3
      const high = (source[at + (i & 31)]! >> (i >> 5)) & 1
      target[to + i] = d * (scaleQ3K(source, at + 96, i >> 4) - 32) * (low - (high ? 0 : 4))
    }
  }
}

/** Scale j of 16: 4 low bits in bytes 0 to 7 (upper half of the scales in the upper nibbles), 2 high bits in bytes 8 to 11. */
function scaleQ3K(source: Uint8Array, at: number, j: number): number {
  const low = (source[at + (j & 7)]! >> (j < 8 ? 0 : 4)) & 15
  const high = (source[at + 8 + (j & 3)]! >> ((j >> 2) << 1)) & 3
  return low | (high << 4)
}

/** d, dmin, 12 bytes of 6-bit scales and minimums, 128 bytes of 4-bit weights. */
export function dequantizeQ4K(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 144, to += 256) {
    const d = half[source[at]! | (source[at + 1]! << 8)]!
    const dmin = half[source[at + 2]! | (source[at + 3]! << 8)]!
    for (let j = 0; j < 8; j++) {
      const scale = d * scaleK(source, at + 4, j)
      const minimum = dmin * minimumK(source, at + 4, j)
      const bytes = at + 16 + ((j >> 1) << 5)
      const shift = (j & 1) << 2
      for (let l = 0; l < 32; l++) target[to + 32 * j + l] = scale * ((source[bytes + l]! >> shift) & 15) - minimum
    }
  }
}

/** As Q4_K with 32 bytes of fifth bits before the weights. */
export function dequantizeQ5K(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 176, to += 256) {
    const d = half[source[at]! | (source[at + 1]! << 8)]!
    const dmin = half[source[at + 2]! | (source[at + 3]! << 8)]!
    for (let j = 0; j < 8; j++) {
      const scale = d * scaleK(source, at + 4, j)
      const minimum = dmin * minimumK(source, at + 4, j)
      const bytes = at + 48 + ((j >> 1) << 5)
      const shift = (j & 1) << 2
      for (let l = 0; l < 32; l++) {
        const high = (source[at + 16 + l]! >> j) & 1
        target[to + 32 * j + l] = scale * (((source[bytes + l]! >> shift) & 15) | (high << 4)) - minimum
      }
    }
  }
}

/** 128 bytes of 4 low bits, 64 bytes of 2 high bits, 16 signed scales, d. */
export function dequantizeQ6K(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 210, to += 256) {
    const d = half[source[at + 208]! | (source[at + 209]! << 8)]!
    for (let i = 0; i < 256; i++) {
      const part = i >> 7
      const quarter = (i >> 5) & 3
      const l = i & 31
      const low = (source[at + 64 * part + ((quarter & 1) << 5) + l]! >> (quarter < 2 ? 0 : 4)) & 15
      const high = (source[at + 128 + 32 * part + l]! >> (quarter << 1)) & 3
      const scale = (source[at + 192 + 8 * part + 2 * quarter + (l >> 4)]! << 24) >> 24
      target[to + i] = d * scale * ((low | (high << 4)) - 32)
    }
  }
}

/** 6-bit scale j of 8, packed with the minimums in 12 bytes (`get_scale_min_k4`). */
function scaleK(source: Uint8Array, at: number, j: number): number {
  return j < 4 ? source[at + j]! & 63 : (source[at + j + 4]! & 15) | ((source[at + j - 4]! >> 6) << 4)
}

function minimumK(source: Uint8Array, at: number, j: number): number {
  return j < 4 ? source[at + j + 4]! & 63 : (source[at + j + 4]! >> 4) | ((source[at + j]! >> 6) << 4)
}
