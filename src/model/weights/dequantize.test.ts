import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ggmlTypeOf, type TensorType, tensorTypeLayout } from '../gguf/tensor-types.ts'
import { dequantizer } from './dequantize.ts'

/** Random blocks and their values according to ggml's own Python package (gguf.quants.dequantize). */
const fixture = JSON.parse(readFileSync(new URL('./__fixtures__/dequantized.json', import.meta.url), 'utf8')) as Record<
  TensorType,
  { readonly bytes: string; readonly values: readonly number[] }
>

describe('dequantize', () => {
  it.each(Object.keys(fixture) as TensorType[])('%s gives the values that ggml gives', (type) => {
    const bytes = Buffer.from(fixture[type].bytes, 'base64')
    const { values } = fixture[type]
    const { block, blockBytes } = tensorTypeLayout(ggmlTypeOf(type))!
    const target = new Float32Array(values.length + 1).fill(9)
    dequantizer(type)(bytes, 0, bytes.length / blockBytes, target, 1)
    expect(bytes.length / blockBytes).toBe(values.length / block)
    expect(target[0]).toBe(9)
    for (const [i, value] of values.entries()) expect(target[i + 1]).toBeCloseTo(value, 5)
  })
})
