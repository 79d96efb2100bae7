import { describe, expect, it } from 'vitest'
import { encode } from './encode.ts'

const hex = (...input: Parameters<typeof encode>): string => Buffer.from(encode(...input)).toString('hex')

describe('encode', () => {
  it('puts lengths before texts and their number before words, little-endian', () => {
    expect(hex(['ab', Uint8Array.of(255)], [1, -2])).toBe('02000000616201000000ff0200000001000000feffffff')
    expect(hex([], [])).toBe('00000000')
  })

  it('counts a string in bytes of UTF-8, and takes it as it takes those bytes', () => {
    for (const text of ['', 'plain', 'naïve', 'ключ/1', '鍵', '🔑🔑', 'a\ud800b'])
      expect(hex([text, 'z'], [7])).toBe(hex([new TextEncoder().encode(text), 'z'], [7]))
  })

  it('is the same after longer and shorter inputs', () => {
    const before = hex(['name'], [1, 2, 3])
    const long = 'é'.repeat(5_000)
    expect(hex([long], [])).toBe(hex([new TextEncoder().encode(long)], []))
    expect(hex(['name'], [1, 2, 3])).toBe(before)
  })
})
