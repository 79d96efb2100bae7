import { describe, expect, it } from 'vitest'
import { Fields } from './gguf/fields.ts'
import type { MetadataValue } from './gguf/metadata.ts'
import { readTokenizer } from './tokenizer-metadata.ts'

const read = (more: Readonly<Record<string, MetadataValue>>) =>
  readTokenizer(
    new Fields(
      new Map<string, MetadataValue>([
        ['tokenizer.ggml.model', 'gpt2'],
        ['tokenizer.ggml.tokens', ['a', 'b']],
        ...Object.entries(more),
      ]),
    ),
    2,
  )

describe('readTokenizer', () => {
  it.each([
    ['a byte-level file', {}, false],
    ['a byte-level file of a kind that begins with BOS', { 'tokenizer.ggml.pre': 'llama-bpe' }, true],
    [
      'such a file that says otherwise',
      { 'tokenizer.ggml.pre': 'llama-bpe', 'tokenizer.ggml.add_bos_token': false },
      false,
    ],
    ['a SentencePiece-style file', { 'tokenizer.ggml.model': 'llama' }, true],
  ])('puts BOS in front as llama.cpp does: %s', (_what, metadata, addBos) => {
    expect(read(metadata).addBos).toBe(addBos)
  })

  it('refuses an id beyond the vocabulary and a tokenizer it does not know', () => {
    expect(() => read({ 'tokenizer.ggml.eos_token_id': 2 })).toThrow(/eos_token_id is 2/)
    expect(() => read({ 'tokenizer.ggml.model': 'rwkv' })).toThrow(/"rwkv" is not served/)
  })
})
