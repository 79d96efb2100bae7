/**
 * Block formats to f32, after ggml-quants.c (`dequantize_row_*`). One function per type, all of one shape: `blocks` blocks
 * from `source` at `at` into `target` at `to`. The products are formed in double precision and stored as f32.
 */
import type { TensorType } from '../gguf/tensor-types.ts'
import { dequantizeQ2K, dequantizeQ3K, dequantizeQ4K, dequantizeQ5K, dequantizeQ6K } from './dequantize-k.ts'
import { halfTable } from './half.ts'

export type Dequantizer = (source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number) => void

const DEQUANTIZERS: Readonly<Record<TensorType, Dequantizer>> = {
  F32: copyF32,
  F16: expandF16,
  BF16: expandBf16,
  Q4_0: dequantizeQ4,
  Q4_1: dequantizeQ4WithMinimum,
  Q5_0: dequantizeQ5,
  Q5_1: dequantizeQ5WithMinimum,
  Q8_0: dequantizeQ8,
  Q2_K: dequantizeQ2K,
  Q3_K: dequantizeQ3K,
  Q4_K: dequantizeQ4K,
  Q5_K: dequantizeQ5K,
  Q6_K: dequantizeQ6K,
}

export function dequantizer(type: TensorType): Dequantizer {
  return DEQUANTIZERS[type]
}

function copyF32(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  new Uint8Array(target.buffer, target.byteOffset + 4 * to, 4 * blocks).set(source.subarray(at, at + 4 * blocks))
}

function expandF16(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let i = 0; i < blocks; i++) target[to + i] = half[source[at + 2 * i]! | (source[at + 2 * i + 1]! << 8)]!
}

function expandBf16(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const words = new Uint32Array(target.buffer, target.byteOffset + 4 * to, blocks)
  for (let i = 0; i < blocks; i++) words[i] = (source[at + 2 * i]! << 16) | (source[at + 2 * i + 1]! << 24)
}

function dequantizeQ4(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 18, to += 32) {
    const scale = half[source[at]! | (source[at + 1]! << 8)]!
    for (let i = 0; i < 16; i++) {
      const byte = source[at + 2 + i]!
      target[to + i] = scale * ((byte & 15) - 8)
      target[to + 16 + i] = scale * ((byte >> 4) - 8)
    }
  }
}

function dequantizeQ4WithMinimum(
  source: Uint8Array,
  at: number,
  blocks: number,
  target: Float32Array,
  to: number,
): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 20, to += 32) {
    const scale = half[source[at]! | (source[at + 1]! << 8)]!
    const minimum = half[source[at + 2]! | (source[at + 3]! << 8)]!
    for (let i = 0; i < 16; i++) {
      const byte = source[at + 4 + i]!
      target[to + i] = scale * (byte & 15) + minimum
      target[to + 16 + i] = scale * (byte >> 4) + minimum
    }
  }
}

function dequantizeQ5(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 22, to += 32) {
    const scale = half[source[at]! | (source[at + 1]! << 8)]!
    for (let i = 0; i < 16; i++) {
      const byte = source[at + 6 + i]!
      target[to + i] = scale * (((byte & 15) | (fifthBit(source, at + 2, i) << 4)) - 16)
      target[to + 16 + i] = scale * (((byte >> 4) | (fifthBit(source, at + 2, i + 16) << 4)) - 16)
    }
  }
}

function dequantizeQ5WithMinimum(
  source: Uint8Array,
  at: number,
  blocks: number,
  target: Float32Array,
  to: number,
): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 24, to += 32) {
    const scale = half[source[at]! | (source[at + 1]! << 8)]!
    const minimum = half[source[at + 2]! | (source[at + 3]! << 8)]!
    for (let i = 0; i < 16; i++) {
      const byte = source[at + 8 + i]!
      target[to + i] = scale * ((byte & 15) | (fifthBit(source, at + 4, i) << 4)) + minimum
      target[to + 16 + i] = scale * ((byte >> 4) | (fifthBit(source, at + 4, i + 16) << 4)) + minimum
    }
  }
}

function fifthBit(source: Uint8Array, at: number, i: number): number {
  return (source[at + (i >> 3)]! >> (i & 7)) & 1
}

function dequantizeQ8(source: Uint8Array, at: number, blocks: number, target: Float32Array, to: number): void {
  const half = halfTable()
  for (let b = 0; b < blocks; b++, at += 34, to += 32) {
    const scale = half[source[at]! | (source[at + 1]! << 8)]!
    for (let i = 0; i < 32; i++) target[to + i] = scale * ((source[at + 2 + i]! << 24) >> 24)
  }
}
