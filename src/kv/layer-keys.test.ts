import { expect, test } from 'vitest'
import { chachaBlock, LayerKeys } from './layer-keys.ts'

const KEY = Uint8Array.from({ length: 32 }, (_, i) => i)

test('the block of RFC 8439, section 2.3.2', () => {
  const key = new Int32Array(KEY.buffer.slice(0))
  const block = chachaBlock(key, 1, [0x09000000, 0x4a000000, 0])
  expect([...block].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join(' ')).toBe(
    'e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 ' +
      '466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2',
  )
})

test('every layer has a key of its own, the same each time', () => {
  const keys = new LayerKeys(KEY)
  const hex = (layer: number): string => Buffer.from(keys.of(layer)).toString('hex')
  const all = Array.from({ length: 33 }, (_, layer) => hex(layer))
  expect(new Set(all).size).toBe(33)
  expect(all.every((key) => key.length === 64)).toBe(true)
  expect(Array.from({ length: 33 }, (_, layer) => hex(layer))).toEqual(all)
  expect(Buffer.from(new LayerKeys(KEY.map((byte) => byte ^ 1)).of(0)).toString('hex')).not.toBe(all[0])
})
