import { BYTE_TO_CHAR, encodeAlphabet } from '../byte-alphabet.ts'
import type { TokenizerMetadata } from '../types.ts'
import { utf8 } from '../unicode.ts'

const CONTROL = ['<s>', '</s>', '<|im_start|>', '<|im_end|>']

/** A byte-level vocabulary: all bytes, then what the merges make (pairs of plain texts), then control tokens. */
export function byteLevel(
  merges: readonly (readonly [string, string])[],
  changed: Partial<TokenizerMetadata> = {},
): TokenizerMetadata {
  const written = (text: string): string => encodeAlphabet(utf8(text), 0, utf8(text).length)
  const made = [...new Set(merges.map(([first, second]) => written(first) + written(second)))]
  const plain = [...BYTE_TO_CHAR, ...made.filter((token) => !BYTE_TO_CHAR.includes(token))]
  const tokens = [...plain, ...CONTROL, '[think]']
  const id = (token: string): number => tokens.indexOf(token)
  return {
    model: 'gpt2',
    pre: 'gpt-2',
    tokens,
    scores: null,
    types: Int32Array.from(tokens, (token) => (CONTROL.includes(token) ? 3 : token === '[think]' ? 4 : 1)),
    merges: merges.map(([first, second]) => `${written(first)} ${written(second)}`),
    bosId: id('<s>'),
    eosId: id('</s>'),
    eotId: id('<|im_end|>'),
    unknownId: null,
    addBos: true,
    addEos: false,
    addSpacePrefix: false,
    chatTemplate: null,
    ...changed,
  }
}

/** A SentencePiece-style vocabulary: `<unk>`, control tokens, bytes, then the pieces with their scores. */
export function sentencePiece(
  pieces: readonly (readonly [string, number])[],
  changed: Partial<TokenizerMetadata> = {},
): TokenizerMetadata {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
  const tokens = ['<unk>', ...CONTROL, ...bytes, ...pieces.map(([text]) => text)]
  return {
    model: 'llama',
    pre: null,
    tokens,
    scores: Float32Array.from([0, 0, 0, 0, 0, ...bytes.map(() => 0), ...pieces.map(([, score]) => score)]),
    types: Int32Array.from(tokens, (token, id) =>
      id === 0 ? 2 : CONTROL.includes(token) ? 3 : bytes.includes(token) ? 6 : 1,
    ),
    merges: null,
    bosId: 1,
    eosId: 2,
    eotId: 4,
    unknownId: 0,
    addBos: true,
    addEos: false,
    addSpacePrefix: true,
    chatTemplate: null,
    ...changed,
  }
}

/** Some English, an emoji and a repeated letter: enough for words, spaces, runs and bytes to merge. */
export const ENGLISH: readonly (readonly [string, string])[] = [
  ['t', 'h'],
  ['th', 'e'],
  [' ', 'the'],
  ['i', 'n'],
  ['a', 'a'],
  ['aa', 'aa'],
  ['aaaa', 'aaaa'],
  ['e', 'r'],
  [' ', 'a'],
  ['in', 'g'],
  [' ', ' '],
  ['  ', '  '],
  ['1', '2'],
  ["'", 's'],
]
