import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTokenizer, type TokenizerMetadata } from './index.ts'
import { anyText, mixedText } from './testing/texts.ts'
import { byteLevel, ENGLISH, sentencePiece } from './testing/vocabularies.ts'

const plain = { addSpecial: false, parseSpecial: false }

const pieces = sentencePiece([
  ['▁', -1],
  ['▁t', -2],
  ['th', -3],
  ['the', -1],
  ['aa', -2],
  ['aaaa', -1],
])

/** The same vocabulary with a user-defined token of blanks, which is read before blanks are written as `▁`. */
const indented: TokenizerMetadata = {
  ...pieces,
  tokens: [...pieces.tokens, ' '.repeat(6)],
  scores: Float32Array.of(...(pieces.scores ?? []), 0),
  types: Int32Array.of(...(pieces.types ?? []), 4),
}

describe('a limit', () => {
  const families: readonly [string, TokenizerMetadata][] = [
    ['byte-level', byteLevel(ENGLISH, { pre: 'llama-bpe' })],
    ['SentencePiece-style', pieces],
    ['SentencePiece-style with a token of blanks', indented],
  ]

  it.each(families)('stops early with a floor above it, or changes nothing (%s)', (_name, meta) => {
    const tokenizer = createTokenizer(meta)
    const texts = fc.oneof(
      mixedText,
      anyText,
      fc.string({ unit: fc.constantFrom('a', ' '.repeat(6), 'the'), maxLength: 99 }),
    )
    const property = fc.property(texts, fc.nat({ max: 60 }), fc.boolean(), (text, limit, special) => {
      const options = { addSpecial: special, parseSpecial: special }
      const all = tokenizer.encode(text, options)
      const some = tokenizer.encode(text, { ...options, limit })
      expect(all.complete).toBe(true)
      if (some.complete) expect(some.ids).toEqual(all.ids)
      else {
        expect(some.ids.length).toBeGreaterThan(limit)
        expect(some.ids.length).toBeLessThanOrEqual(all.ids.length)
      }
      if (all.ids.length <= limit) expect(some.complete).toBe(true)
      expect(tokenizer.floorOf(text, 0)).toBeLessThanOrEqual(all.ids.length)
    })
    fc.assert(property, { numRuns: 500 })
  })

  it.each(families)('refuses ten million characters in one pass over few of them (%s)', (_name, meta) => {
    const tokenizer = createTokenizer(meta)
    for (const text of ['a'.repeat(1e7), ' '.repeat(1e7), '🙂'.repeat(5e6), '<|im_end|>'.repeat(1e6)]) {
      const started = performance.now()
      const { ids, complete } = tokenizer.encode(text, { addSpecial: true, parseSpecial: true, limit: 4096 })
      expect(complete).toBe(false)
      expect(ids.length).toBeGreaterThan(4096)
      // 20 ms are usual
      expect(performance.now() - started).toBeLessThan(2000)
    }
  })
})

describe('hostile texts', () => {
  it('of many letters or different characters cost time in proportion, not in its square', () => {
    const many = String.fromCodePoint(...Array.from({ length: 5000 }, (_, i) => 0x1f000 + i)).repeat(20)
    for (const meta of [
      byteLevel(ENGLISH),
      sentencePiece([
        ['aa', -1],
        ['aaaa', -2],
        ['▁', -3],
      ]),
    ]) {
      const tokenizer = createTokenizer(meta)
      for (const text of ['a'.repeat(200_000), 'ab'.repeat(100_000), '\n'.repeat(200_000), '7'.repeat(200_000), many]) {
        const started = performance.now()
        const { ids } = tokenizer.encode(text, plain)
        expect(ids.length).toBeGreaterThan(20_000)
        // a quadratic merge would take minutes; some 300 ms are usual
        expect(performance.now() - started).toBeLessThan(8000)
      }
    }
  })
})
