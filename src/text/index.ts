export { type ChatTemplateOptions, createChatTemplate } from './chat-template.ts'
export { createDetokenizer } from './detokenizer.ts'
export { encodeChat } from './encode-chat.ts'
export { TextError, type TextErrorCode } from './errors.ts'
export { createStopScanner } from './stop-scanner.ts'
export { type DisplayedToken, displayToken } from './token-display.ts'
export { createTokenizer, type TextTokenizer } from './tokenizer.ts'
export { type TrialOptions, type TrialResult, trialTemplate } from './trial.ts'
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
