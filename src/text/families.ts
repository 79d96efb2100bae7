import { BpeModel } from './bpe.ts'
import { BYTE_TO_CHAR, decodeAlphabet } from './byte-alphabet.ts'
import { TextError } from './errors.ts'
import type { IdSink } from './id-sink.ts'
import { preTokenize, preTokenizerOf } from './pre-tokenizers.ts'
import { ESCAPED_SPACE, SpmModel } from './spm.ts'
import type { TokenizerMetadata } from './types.ts'
import { utf8 } from './unicode.ts'
import { TokenType, type Vocabulary } from './vocabulary.ts'

/** Encodes one fragment of plain text; `first`: at the beginning or right after a special token. */
type FragmentEncoder = (text: string, first: boolean, sink: IdSink) => void

/** What byte-level and SentencePiece-style vocabularies do differently. */
export interface Family {
  readonly encode: FragmentEncoder
  /** The text as the vocabulary would write it. */
  escape(text: string): string
  /** Bytes a normal, user-defined or byte token adds to a text. */
  bytesOf(id: number): Uint8Array
  /** Bytes of an escaped text that the token covers: with `escape`, what a floor is computed from. */
  spelling(id: number): Uint8Array
  /** May this byte vanish without a token? */
  readonly drops: (byte: number) => boolean
}

/** Throws TextError `unsupported_tokenizer`, `unsupported_pre_tokenizer` or `bad_vocabulary`. */
export function createFamily(meta: TokenizerMetadata, vocabulary: Vocabulary): Family {
  if (meta.model === 'gpt2') return byteLevel(meta, vocabulary)
  if (meta.model === 'llama') return sentencePiece(meta, vocabulary)
  throw new TextError({
    code: 'unsupported_tokenizer',
    message: `tokenizer "${meta.model}" is not supported; supported are gpt2 (byte-level BPE) and llama (SentencePiece)`,
    details: { model: meta.model },
  })
}

function byteLevel(meta: TokenizerMetadata, { texts, types, idOf }: Vocabulary): Family {
  if (meta.merges === null) throw new TextError({ code: 'bad_vocabulary', message: 'tokenizer.ggml.merges is missing' })
  const { stages, wholeWords } = preTokenizerOf(meta.pre)
  const model = new BpeModel(idOf, meta.merges, wholeWords)
  const bytesOf = (id: number): Uint8Array =>
    (types[id] === TokenType.userDefined ? null : decodeAlphabet(texts[id]!)) ?? utf8(texts[id]!)
  return {
    escape: (text) => text,
    drops: (byte) => !model.faithful || !idOf.has(BYTE_TO_CHAR[byte]!),
    bytesOf,
    spelling: bytesOf,
    encode: (text, _first, sink) => {
      preTokenize(text, 0, text.length, stages, (from, to) => {
        // pre-tokens are converted one by one: a long text is never held as bytes a second time
        const word = utf8(text.slice(from, to))
        model.encode(word, 0, word.length, sink)
        return !sink.cut
      })
    },
  }
}

function sentencePiece(meta: TokenizerMetadata, { texts, types, idOf }: Vocabulary): Family {
  const unknown = meta.unknownId ?? 0
  const hex = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`
  const byteIds = Int32Array.from({ length: 256 }, (_, byte) => {
    return idOf.get(hex(byte)) ?? (byte < 0x80 ? idOf.get(String.fromCharCode(byte)) : undefined) ?? unknown
  })
  const model = new SpmModel(idOf, meta.scores, texts.length, byteIds)
  const escapeSpaces = (text: string): string => text.replaceAll(' ', ESCAPED_SPACE)
  const unescapeSpaces = (text: string): string => text.replaceAll(ESCAPED_SPACE, ' ')
  const byteOf = (id: number): Uint8Array | null => {
    const text = texts[id]!
    if (types[id] !== TokenType.byte || !/^<0x[0-9A-Fa-f]{2}>$/.test(text)) return null
    return Uint8Array.of(Number.parseInt(text.slice(3, 5), 16))
  }
  return {
    escape: escapeSpaces,
    drops: () => false,
    bytesOf: (id) => byteOf(id) ?? utf8(types[id] === TokenType.userDefined ? texts[id]! : unescapeSpaces(texts[id]!)),
    spelling: (id) => byteOf(id) ?? utf8(texts[id]!),
    encode: (text, first, sink) => model.encode(escapeSpaces(meta.addSpacePrefix && first ? ` ${text}` : text), sink),
  }
}
