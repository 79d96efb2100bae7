import { TextError } from './errors.ts'
import type { TokenizerMetadata } from './types.ts'

/** GGUF's token types. */
export const TokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

/** No real token comes near; a longer one is a hostile file. */
export const LONGEST_TOKEN = 4096

/** Texts that end a turn, whatever type the file gives them: llama.cpp's list. */
const END_TEXTS: ReadonlySet<string> = new Set([
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|flush|>',
  '<|calls|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '</s>',
  '<|eom_id|>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]',
  '<|end_of_text|>',
  '<end_of_utterance>',
  '<eos>',
  '<｜end▁of▁sentence｜>',
])

/** Tokens by id and by text, with types and special ids settled as llama.cpp settles them. */
export interface Vocabulary {
  readonly texts: readonly string[]
  readonly types: Int32Array
  readonly idOf: ReadonlyMap<string, number>
  readonly bosId: number | null
  readonly eosId: number | null
  readonly endIds: readonly number[]
}

/** Checks what the file says of its tokens. Throws TextError `bad_vocabulary`. */
export function createVocabulary(meta: TokenizerMetadata): Vocabulary {
  const size = meta.tokens.length
  if (size === 0) throw bad('tokenizer.ggml.tokens is empty')
  if (meta.types !== null && meta.types.length < size) {
    throw bad(`tokenizer.ggml.token_type has ${meta.types.length} entries for ${size} tokens`)
  }
  if (meta.scores !== null && meta.scores.length < size) {
    throw bad(`tokenizer.ggml.scores has ${meta.scores.length} entries for ${size} tokens`)
  }
  const types = meta.types === null ? new Int32Array(size).fill(TokenType.normal) : meta.types.slice(0, size)
  const texts = meta.tokens.map((text, id) => (text === '' ? `[EMPTY_${id}]` : text))
  const idOf = new Map<string, number>()
  texts.forEach((text, id) => {
    if (text.length > LONGEST_TOKEN) {
      throw bad(`tokenizer.ggml.tokens[${id}] is longer than ${LONGEST_TOKEN} characters`)
    }
    idOf.set(text, id)
  })
  const special = (id: number | null, key: string, fallback: number | null): number | null => {
    if (id === null) return fallback !== null && fallback < size ? fallback : null
    if (!Number.isInteger(id) || id < 0 || id >= size) throw bad(`${key} is ${id}, but there are ${size} tokens`)
    return id
  }
  const sentencePiece = meta.model === 'llama'
  const bosId = special(meta.bosId, 'tokenizer.ggml.bos_token_id', sentencePiece ? 1 : null)
  const eosId = special(meta.eosId, 'tokenizer.ggml.eos_token_id', sentencePiece ? 2 : null)
  const eotId = special(meta.eotId, 'tokenizer.ggml.eot_token_id', null)
  const ends = new Set<number>()
  for (const id of [eosId, eotId]) if (id !== null) ends.add(id)
  for (const text of END_TEXTS) {
    const id = idOf.get(text)
    if (id === undefined) continue
    ends.add(id)
    types[id] = TokenType.control
  }
  const end = idOf.get('<|end|>')
  // where <|return|> and <|call|> exist, <|end|> ends a message inside a turn (harmony), not the turn
  if (end !== undefined && idOf.has('<|return|>') && idOf.has('<|call|>')) {
    ends.delete(end)
    types[end] = TokenType.userDefined
  }
  return { texts, types, idOf, bosId, eosId, endIds: [...ends].sort((a, b) => a - b) }
}

function bad(message: string): TextError {
  return new TextError({ code: 'bad_vocabulary', message })
}
