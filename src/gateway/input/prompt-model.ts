import { type ChatTemplate, encodeChat, type TextTokenizer } from '../../text/index.ts'
import type { PromptModel } from './types.ts'

/**
 * How a served model counts, from its tokenizer and template. Raw text never becomes a control token, whatever it spells; BOS is put
 * in front where the file asks for it, EOS never, since an answer is to follow.
 */
export const createPromptModel = (
  id: string,
  tokenizer: TextTokenizer,
  template: ChatTemplate | null,
  encodeLimit: number,
): PromptModel => ({
  id,
  encodeLimit,
  encodeText: (text, limit) => tokenizer.encodeWhere(text, () => false, { bos: true, limit }),
  encodeChat: template === null ? null : (messages, limit) => encodeChat(template, tokenizer, messages, { limit }),
})
