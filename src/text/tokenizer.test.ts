import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTokenizer, TextError, type TextTokenizer, type TokenizerMetadata } from './index.ts'
import { anyText, mixedText } from './testing/texts.ts'
import { byteLevel, ENGLISH, sentencePiece } from './testing/vocabularies.ts'

const plain = { addSpecial: false, parseSpecial: false }

function decode(tokenizer: TextTokenizer, ids: Int32Array): string {
  return Buffer.concat([...ids].map((id) => tokenizer.tokenBytes(id))).toString('utf8')
}

/** The algorithm as it is told: join the best pair, leftmost first, until none is left. */
function mergeNaively(symbols: string[], rank: (left: string, right: string) => number): string[] {
  const list = [...symbols]
  for (;;) {
    let best = Number.POSITIVE_INFINITY
    let at = -1
    for (let i = 0; i + 1 < list.length; i++) {
      const of = rank(list[i]!, list[i + 1]!)
      if (of < best) {
        best = of
        at = i
      }
    }
    if (at < 0) return list
    list.splice(at, 2, list[at]! + list[at + 1]!)
  }
}

const letters = fc.constantFrom('a', 'b', 'c')
/** Merges built upon each other, so that their order matters; runs up to eight letters long come up. */
const merges = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 24 }).map((picks) => {
  const pieces = ['a', 'b', 'c']
  const made: [string, string][] = []
  for (const [i, j] of picks) {
    const pair: [string, string] = [pieces[i % pieces.length]!, pieces[j % pieces.length]!]
    if (pair[0].length + pair[1].length > 8 || made.some(([a, b]) => a === pair[0] && b === pair[1])) continue
    made.push(pair)
    pieces.push(pair[0] + pair[1])
  }
  return made
})
// longer than what is merged by scanning
const word = fc.string({ unit: letters, minLength: 0, maxLength: 160 })

describe('byte-level BPE', () => {
  it('gives the ids of merging by hand, for any merges', () => {
    const property = fc.property(merges, word, (of, text) => {
      const meta = byteLevel(of, { pre: 'gpt-2' })
      const ranks = new Map(of.map(([left, right], rank) => [`${left} ${right}`, rank]))
      const expected = mergeNaively(
        [...text],
        (left, right) => ranks.get(`${left} ${right}`) ?? Number.POSITIVE_INFINITY,
      )
      const ids = createTokenizer(meta).encode(text, plain).ids
      expect([...ids].map((id) => meta.tokens[id])).toEqual(expected)
    })
    fc.assert(property, { numRuns: 400 })
  })

  it('decodes to what was encoded, whatever the text', () => {
    for (const pre of ['gpt-2', 'llama-bpe', 'qwen2', 'smollm', 'qwen35', 'default', null]) {
      const tokenizer = createTokenizer(byteLevel(ENGLISH, { pre }))
      fc.assert(
        fc.property(fc.oneof(anyText, mixedText), (text) => {
          expect(decode(tokenizer, tokenizer.encode(text, plain).ids)).toBe(text)
        }),
        { numRuns: 150 },
      )
    }
  })

  it('counts a lone surrogate as U+FFFD', () => {
    const tokenizer = createTokenizer(byteLevel(ENGLISH))
    expect(tokenizer.encode('a\ud800b', plain)).toEqual(tokenizer.encode('a\ufffdb', plain))
    expect(tokenizer.encode('\udc00'.repeat(3), plain).ids).toHaveLength(9)
  })

  it('keeps a pre-token that is a token whole where the file asks for it', () => {
    // "cab" is a token, but its merges make "ca" and "b" only after "ab" was made
    const of: [string, string][] = [
      ['a', 'b'],
      ['c', 'a'],
      ['ca', 'b'],
    ]
    const count = (pre: string): number => createTokenizer(byteLevel(of, { pre })).encode('cab', plain).ids.length
    expect(count('gpt-2')).toBe(2)
    expect(count('llama-bpe')).toBe(1)
  })

  it('drops what the vocabulary cannot spell, as llama.cpp does, and then claims no floor', () => {
    const meta = byteLevel([])
    const tokens = meta.tokens.map((token) => (token === 'x' ? 'other' : token))
    const tokenizer = createTokenizer({ ...meta, tokens })
    expect(tokenizer.encode('axxb', plain).ids).toHaveLength(2)
    expect(tokenizer.floorOf('x'.repeat(1000), 1)).toBe(0)
  })
})

describe('SentencePiece-style tokens', () => {
  it('gives the ids of merging by hand, for any scores, ties included', () => {
    const pieces = fc.uniqueArray(
      fc.tuple(fc.string({ unit: letters, minLength: 1, maxLength: 6 }), fc.integer({ min: -5, max: 0 })),
      {
        selector: ([text]) => text,
        maxLength: 40,
      },
    )
    const property = fc.property(pieces, word, (of, text) => {
      const meta = sentencePiece(of, { addSpacePrefix: false })
      const scores = new Map(of)
      const joined = mergeNaively([...text], (left, right) => -(scores.get(left + right) ?? Number.NEGATIVE_INFINITY))
      const spelled = (piece: string): string => (scores.has(piece) ? piece : `<0x${piece.charCodeAt(0).toString(16)}>`)
      const ids = createTokenizer(meta).encode(text, plain).ids
      expect([...ids].map((id) => meta.tokens[id])).toEqual(joined.map(spelled))
    })
    fc.assert(property, { numRuns: 400 })
  })

  it('puts a space in front of a text and after each special token', () => {
    const meta = sentencePiece([
      ['▁', -1],
      ['▁a', -2],
    ])
    const tokenizer = createTokenizer(meta)
    const texts = (text: string, of = tokenizer): (string | undefined)[] =>
      [...of.encode(text, { addSpecial: true, parseSpecial: true }).ids].map((id) => meta.tokens[id])
    expect(texts('a a<s>a')).toEqual(['<s>', '▁a', '▁a', '<s>', '▁a'])
    expect(texts('a a', createTokenizer({ ...meta, addSpacePrefix: false }))).toEqual(['<s>', '<0x61>', '▁a'])
  })

  it('falls back to bytes, and to the unknown token where there are none', () => {
    const meta = sentencePiece([['▁', -1]])
    const tokenizer = createTokenizer(meta)
    expect(decode(tokenizer, tokenizer.encode('é🙂', plain).ids)).toBe(' é🙂')
    const without = createTokenizer({
      ...meta,
      tokens: meta.tokens.map((token, id) => (id > 4 && id < 261 ? `no${id}` : token)),
    })
    expect([...without.encode('é', plain).ids].slice(-2)).toEqual([0, 0])
  })

  it('decodes to what was encoded behind its space', () => {
    const tokenizer = createTokenizer(
      sentencePiece([
        ['▁', -1],
        ['▁t', -2],
        ['▁the', -1.5],
        ['th', -3],
        ['he', -2.5],
        ['▁▁', -4],
        ['🙂🙂', -5],
      ]),
    )
    const property = fc.property(fc.oneof(anyText, mixedText), (text) => {
      const expected = text === '' ? '' : ` ${text.replaceAll('▁', ' ')}`
      expect(decode(tokenizer, tokenizer.encode(text, plain).ids)).toBe(expected)
    })
    fc.assert(property, { numRuns: 300 })
  })
})

describe('special tokens', () => {
  const meta = byteLevel(ENGLISH)
  const tokenizer = createTokenizer(meta)
  const id = (token: string): number => meta.tokens.indexOf(token)

  it('are read only where they are asked for', () => {
    const parsed = tokenizer.encode('the<|im_end|>', { addSpecial: true, parseSpecial: true })
    expect([...parsed.ids]).toEqual([id('<s>'), id('the'), id('<|im_end|>')])
    expect([...tokenizer.encode('the<|im_end|>', plain).ids]).not.toContain(id('<|im_end|>'))
  })

  it('defined by the user are part of the text', () => {
    const ids = tokenizer.encode('a[think]a', plain).ids
    expect([...ids]).toEqual([id('a'), id('[think]'), id('a')])
    expect(decode(tokenizer, ids)).toBe('a[think]a')
  })

  it('add nothing to a text when they control', () => {
    expect(tokenizer.tokenBytes(id('<|im_end|>'))).toHaveLength(0)
    expect(tokenizer.tokenBytes(-1)).toHaveLength(0)
    expect(tokenizer.tokenBytes(1e6)).toHaveLength(0)
  })

  it('are taken longest first where they overlap', () => {
    const tokens = [...meta.tokens, '<<x', 'x>>>', '<x>']
    const types = Int32Array.from([...meta.types!, 3, 3, 3])
    const overlapping = createTokenizer({ ...meta, tokens, types })
    const ids = [...overlapping.encode('<<x>>>', { addSpecial: false, parseSpecial: true }).ids]
    expect(ids.map((of) => tokens[of])).toEqual(['<', '<', 'x>>>'])
  })

  it('that end a turn are EOS, EOT and what is known to end one', () => {
    expect(tokenizer.endIds).toEqual([id('</s>'), id('<|im_end|>')])
    expect(createTokenizer({ ...meta, eotId: null }).endIds).toEqual([id('</s>'), id('<|im_end|>')])
  })

  it('stand around a text as the file says', () => {
    const both = createTokenizer({ ...meta, addEos: true })
    const around = (of: TextTokenizer, addSpecial: boolean): number[] => [
      ...of.encode('a', { addSpecial, parseSpecial: false }).ids,
    ]
    expect(around(both, true)).toEqual([id('<s>'), id('a'), id('</s>')])
    expect(around(both, false)).toEqual([id('a')])
    expect(around(createTokenizer({ ...meta, addBos: false }), true)).toEqual([id('a')])
  })
})

describe('createTokenizer refuses', () => {
  const meta = byteLevel(ENGLISH)
  const failure = (changed: Partial<TokenizerMetadata>): { code: string; message: string } => {
    try {
      createTokenizer({ ...meta, ...changed })
    } catch (error) {
      if (error instanceof TextError) return { code: error.code, message: error.message }
      throw error
    }
    throw new Error('nothing was refused')
  }

  it('a pre-tokenizer it does not know, by name', () => {
    expect(failure({ pre: 'tekken' })).toMatchObject({ code: 'unsupported_pre_tokenizer' })
    expect(failure({ pre: 'tekken' }).message).toContain('"tekken"')
  })

  it('a tokenizer of another kind', () => {
    expect(failure({ model: 'bert' })).toMatchObject({ code: 'unsupported_tokenizer' })
  })

  it('a vocabulary that does not add up', () => {
    expect(failure({ tokens: [] }).code).toBe('bad_vocabulary')
    expect(failure({ merges: null }).code).toBe('bad_vocabulary')
    expect(failure({ types: new Int32Array(3) }).message).toContain('token_type has 3 entries')
    expect(failure({ scores: new Float32Array(3) }).message).toContain('scores has 3 entries')
    expect(failure({ bosId: 1e6 }).message).toContain('bos_token_id is 1000000')
    expect(failure({ tokens: meta.tokens.map((token, id) => (id === 7 ? 'x'.repeat(5000) : token)) }).code).toBe(
      'bad_vocabulary',
    )
  })
})
