import { expect, it } from 'vitest'
import { sealsAgree } from './seals-agree.ts'

const seal = (change = -1, length = 16): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i === change ? 0x80 : 0) ^ (i * 7))

it('agree when every byte does, and not when one bit, or the length, differs', () => {
  expect(sealsAgree(seal(), seal())).toBe(true)
  for (let at = 0; at < 16; at++) expect(sealsAgree(seal(), seal(at))).toBe(false)
  expect(sealsAgree(seal(), seal(-1, 15))).toBe(false)
  expect(sealsAgree(seal(-1, 15), seal())).toBe(false)
})
