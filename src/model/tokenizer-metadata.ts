import type { TokenizerMetadata } from '../text/index.ts'
import { ModelError } from './errors.ts'
import { type Fields, required } from './gguf/fields.ts'

const SERVED = ['gpt2', 'llama']
/** Byte-level files of these kinds begin with BOS unless they say otherwise, as llama.cpp has it. */
const BOS_BY_DEFAULT = ['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'pixtral', 'lfm2']

/** What the file says of its tokenizer; `text` builds and judges the tokenizer itself. */
export function readTokenizer(fields: Fields, vocab: number): TokenizerMetadata {
  const model = required(fields.string('tokenizer.ggml.model'), 'tokenizer.ggml.model')
  if (!SERVED.includes(model)) {
    throw new ModelError({
      code: 'unsupported_feature',
      message: `tokenizer ${JSON.stringify(model.slice(0, 64))} is not served; ${SERVED.join(' and ')} are`,
      details: { tokenizer: model.slice(0, 64) },
    })
  }
  const tokens = required(fields.strings('tokenizer.ggml.tokens'), 'tokenizer.ggml.tokens')
  const scores = fields.numbers('tokenizer.ggml.scores')
  const types = fields.numbers('tokenizer.ggml.token_type')
  expectLength('tokenizer.ggml.tokens', tokens.length, vocab)
  if (scores !== null) expectLength('tokenizer.ggml.scores', scores.length, vocab)
  if (types !== null) expectLength('tokenizer.ggml.token_type', types.length, vocab)
  const id = (key: string): number | null => readId(fields, `tokenizer.ggml.${key}`, vocab)
  const isSentencePiece = model === 'llama'
  const pre = fields.string('tokenizer.ggml.pre')
  return {
    model,
    pre,
    tokens,
    scores: scores === null ? null : Float32Array.from(scores),
    types: types === null ? null : Int32Array.from(types),
    merges: fields.strings('tokenizer.ggml.merges'),
    bosId: id('bos_token_id'),
    eosId: id('eos_token_id'),
    eotId: id('eot_token_id'),
    unknownId: id('unknown_token_id'),
    // llama.cpp's default too
    addBos: fields.boolean('tokenizer.ggml.add_bos_token') ?? (isSentencePiece || BOS_BY_DEFAULT.includes(pre ?? '')),
    addEos: fields.boolean('tokenizer.ggml.add_eos_token') ?? false,
    addSpacePrefix: fields.boolean('tokenizer.ggml.add_space_prefix') ?? isSentencePiece,
    chatTemplate: fields.string('tokenizer.chat_template'),
  }
}

/** llama.cpp ignores ids beyond the vocabulary with a warning; here such a file is refused. */
function readId(fields: Fields, key: string, vocab: number): number | null {
  const id = fields.count(key, 0)
  if (id === null || id < vocab) return id
  throw new ModelError({
    code: 'bad_metadata',
    message: `metadata key ${key} is ${id}, the vocabulary has ${vocab} tokens`,
    details: { key, id, vocab },
  })
}

function expectLength(key: string, length: number, vocab: number): void {
  if (length === vocab) return
  throw new ModelError({
    code: 'bad_metadata',
    message: `metadata key ${key} has ${length} entries, tensor token_embd.weight has ${vocab} rows`,
    details: { key, length, vocab },
  })
}
