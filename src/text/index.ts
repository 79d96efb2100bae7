export type { ChatMessage, ChatTemplate, Detokenizer, EncodeOptions, Encoded, StopScanner, Tokenizer } from './types.ts'
