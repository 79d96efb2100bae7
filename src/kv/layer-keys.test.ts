import { createCipheriv } from 'node:crypto'
import { expect, test } from 'vitest'
import { LayerKeys } from './layer-keys.ts'

const KEY = Uint8Array.from({ length: 32 }, (_, i) => i)

test('every layer has a key of its own, the same each time', () => {
  const keys = new LayerKeys(KEY)
  const hex = (layer: number): string => Buffer.from(keys.of(layer)).toString('hex')
  const all = Array.from({ length: 33 }, (_, layer) => hex(layer))
  expect(new Set(all).size).toBe(33)
  expect(all.every((key) => key.length === 64)).toBe(true)
  expect(Array.from({ length: 33 }, (_, layer) => hex(layer))).toEqual(all)
  expect(Buffer.from(new LayerKeys(KEY.map((byte) => byte ^ 1)).of(0)).toString('hex')).not.toBe(all[0])
})

test("keys are the keystream of ChaCha20 under the page's key, in order", () => {
  const keystream = createCipheriv('chacha20', KEY, new Uint8Array(16)).update(new Uint8Array(5 * 32))
  const keys = new LayerKeys(KEY)
  for (const layer of [3, 0, 4, 1, 2]) {
    expect(keys.of(layer)).toEqual(new Uint8Array(keystream.subarray(layer * 32, layer * 32 + 32)))
  }
})
