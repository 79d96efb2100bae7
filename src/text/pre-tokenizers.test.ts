import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { preTokenize, preTokenizerOf } from './pre-tokenizers.ts'

/** The published expressions; `\s` as Unicode's white space, which JavaScript's is not. */
const S = '\\p{White_Space}'
const ANY_CASE = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
const modern = (digits: string): string =>
  `${ANY_CASE}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}${digits}| ?[^${S}\\p{L}\\p{N}]+[\\r\\n]*|${S}*[\\r\\n]+|${S}+(?!\\P{White_Space})|${S}+`
const EXPRESSIONS: readonly [string, string][] = [
  ['gpt-2', `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${S}\\p{L}\\p{N}]+|${S}+(?!\\P{White_Space})|${S}+`],
  ['llama-bpe', modern('{1,3}')],
  ['qwen2', modern('')],
]

function split(pre: string | null, text: string): string[] {
  const pieces: string[] = []
  preTokenize(text, 0, text.length, preTokenizerOf(pre).stages, (from, to) => {
    pieces.push(text.slice(from, to))
    return true
  })
  return pieces
}

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      'a',
      'Z',
      'é',
      '漢',
      '1',
      '٣',
      '½',
      ' ',
      '  ',
      '\t',
      '\n',
      '\r',
      '\u00a0',
      '\u0085',
      '\u3000',
      "'",
      "'S",
      "'ll",
      'Ve',
      '.',
      '!',
      '$',
      '🙂',
      '\u0301',
      '𝒳',
      '𝟙',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 30,
})

describe('pre-tokenizers', () => {
  it.each(EXPRESSIONS)('%s cuts as its published expression does', (pre, expression) => {
    const property = fc.property(text, (of) => {
      expect(split(pre, of)).toEqual(of.match(new RegExp(expression, 'gu')) ?? [])
    })
    fc.assert(property, { numRuns: 1500 })
  })

  it('smollm sets every digit apart', () => {
    expect(split('smollm', 'ab 123 c')).toEqual(['ab', ' ', '1', '2', '3', ' c'])
  })

  it('the default sets punctuation apart and groups digits by three', () => {
    expect(split('default', "it's 12345, a+b")).toEqual(['it', "'", 's', ' ', '123', '45', ',', ' a', '+', 'b'])
    expect(split(null, 'a b')).toEqual(['a', ' b'])
  })

  it('qwen35 keeps marks with their letters', () => {
    expect(split('qwen35', 'e\u0301a')).toEqual(['e\u0301a'])
    expect(split('qwen2', 'e\u0301a')).not.toEqual(['e\u0301a'])
  })

  it('stop when told to', () => {
    let seen = 0
    const finished = preTokenize('a b c d', 0, 7, preTokenizerOf('gpt-2').stages, () => ++seen < 2)
    expect([finished, seen]).toEqual([false, 2])
  })
})
