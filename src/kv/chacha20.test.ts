import { expect, test } from 'vitest'
import { chachaBlock } from './chacha20.ts'

test('the block of RFC 8439, section 2.3.2', () => {
  const key = Int32Array.from({ length: 8 }, (_, i) => 0x03020100 + i * 0x04040404)
  const block = new Int32Array(16)
  chachaBlock(key, 1, [0x09000000, 0x4a000000, 0], block)
  expect([...block].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join(' ')).toBe(
    'e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 ' +
      '466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2',
  )
})
