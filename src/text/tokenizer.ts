import { createFamily } from './families.ts'
import { TokenFloor } from './floor.ts'
import { IdSink } from './id-sink.ts'
import { type ControlRule, SpecialTokens } from './special-tokens.ts'
import type { Encoded, EncodeOptions, Tokenizer, TokenizerMetadata } from './types.ts'
import { utf8, wellFormed } from './unicode.ts'
import { createVocabulary, TokenType } from './vocabulary.ts'

/** What chat encoding needs beyond the plain contract. */
export interface TextTokenizer extends Tokenizer {
  /** What templates call `bos_token` and `eos_token`; empty if the file names none. */
  readonly bosToken: string
  readonly eosToken: string
  /** Control, unknown or unused: not part of any answer's text. */
  isControl(id: number): boolean
  /** Where control tokens stand written out in a text. */
  controlsIn(text: string): readonly { readonly start: number; readonly end: number }[]
  /** No more than the text's token count, without tokenizing: 0 if the text cannot exceed `limit`. Well-formed text. */
  floorOf(text: string, limit: number): number
  /**
   * As `encode` with `parseSpecial`, but control tokens are read only where the rule allows. `bos`: put BOS in front if
   * the file asks for it. The text is well-formed.
   */
  encodeWhere(text: string, control: ControlRule, options: { readonly bos: boolean; readonly limit?: number }): Encoded
}

/**
 * The tokenizer a model file describes, with llama.cpp's ids. Own code, since `@huggingface/tokenizers` reads another
 * file format, merges in quadratic time and runs at 0.8 MB/s; a count here decides what is refused.
 * Throws TextError `unsupported_tokenizer`, `unsupported_pre_tokenizer` or `bad_vocabulary`.
 */
export function createTokenizer(meta: TokenizerMetadata): TextTokenizer {
  const vocabulary = createVocabulary(meta)
  const family = createFamily(meta, vocabulary)
  const specials = new SpecialTokens(vocabulary)
  const bytes = vocabulary.texts.map((_, id) => family.bytesOf(id))
  const isControl = (id: number): boolean => {
    const type = vocabulary.types[id]
    return type !== TokenType.normal && type !== TokenType.userDefined && type !== TokenType.byte
  }
  // Control and user-defined tokens are found before a text is escaped, so one may cover more of the escaped text than it has bytes.
  const isFoundWhole = (id: number): boolean => isControl(id) || vocabulary.types[id] === TokenType.userDefined
  const floor = new TokenFloor(
    (function* () {
      for (const [id, text] of vocabulary.texts.entries()) {
        yield isFoundWhole(id) ? utf8(family.escape(text)) : family.spelling(id)
      }
    })(),
    family.drops,
    family.escape,
  )
  const { bosId, eosId } = vocabulary

  // a character is at most 4 bytes, and a byte at most one token
  const floorOf = (text: string, limit: number): number => (text.length * 4 > limit ? floor.of(text, limit) : 0)

  const encodeText = (
    text: string,
    control: ControlRule | null,
    around: { readonly bos: boolean; readonly eos: boolean },
    limit: number,
  ): Encoded => {
    const least = floorOf(text, limit)
    if (least > limit) return { ids: new Int32Array(least).fill(-1), complete: false }
    const sink = new IdSink(limit)
    if (around.bos && bosId !== null) sink.push(bosId)
    let first = true
    for (const fragment of specials.partition(text, control)) {
      if (sink.stops()) return sink.encoded()
      if (fragment.id === null) family.encode(text.slice(fragment.start, fragment.end), first, sink)
      else sink.push(fragment.id)
      first = fragment.id !== null
    }
    if (around.eos && eosId !== null && !sink.cut) sink.push(eosId)
    return sink.encoded()
  }

  return {
    vocabSize: vocabulary.texts.length,
    endIds: vocabulary.endIds,
    bosToken: bosId === null ? '' : vocabulary.texts[bosId]!,
    eosToken: eosId === null ? '' : vocabulary.texts[eosId]!,
    isControl,
    floorOf,
    controlsIn: (text) => specials.controlsIn(text),
    tokenBytes: (id) => (id in bytes && !isControl(id) ? bytes[id]! : new Uint8Array(0)),
    encode: (text: string, { addSpecial, parseSpecial, limit }: EncodeOptions): Encoded =>
      encodeText(
        wellFormed(text),
        parseSpecial ? () => true : null,
        { bos: addSpecial && meta.addBos, eos: addSpecial && meta.addEos },
        limit ?? Number.POSITIVE_INFINITY,
      ),
    encodeWhere: (text, control, { bos, limit }) =>
      encodeText(text, control, { bos: bos && meta.addBos, eos: false }, limit ?? Number.POSITIVE_INFINITY),
  }
}
