export { TextError, type TextErrorCode } from './errors.ts'
export { createTokenizer, type TextTokenizer } from './tokenizer.ts'
export type {
  ChatMessage,
  ChatTemplate,
  Detokenizer,
  Encoded,
  EncodeOptions,
  StopScanner,
  Tokenizer,
  TokenizerMetadata,
} from './types.ts'
