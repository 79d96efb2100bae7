import { renderMarked } from './content-marks.ts'
import type { TextTokenizer } from './tokenizer.ts'
import type { ChatMessage, ChatTemplate, Encoded } from './types.ts'
import { wellFormed } from './unicode.ts'

/**
 * Ids of a chat prompt. Control tokens are read where the template wrote them, never where a message spells one; for
 * messages that spell none, the ids are those of the rendered text encoded with `parseSpecial`. BOS is put in front
 * exactly once, whether the template writes it or the file asks for it; EOS never, since an answer is to follow.
 * Throws TextError `template_failed` or `template_too_costly`.
 */
export function encodeChat(
  template: ChatTemplate,
  tokenizer: TextTokenizer,
  messages: readonly ChatMessage[],
  options: { readonly limit?: number } = {},
): Encoded {
  const clean = messages.map((message) => ({
    ...message,
    content: wellFormed(message.content),
    ...(message.name === undefined ? {} : { name: wellFormed(message.name) }),
  }))
  const plain = wellFormed(template.render(clean))
  const { limit = Number.POSITIVE_INFINITY } = options
  const floor = tokenizer.floorOf(plain, limit)
  if (floor > limit) return { ids: new Int32Array(floor).fill(-1), complete: false }
  const { text, isTemplateText } = renderMarked(template, clean, plain, (content) => tokenizer.controlsIn(content))
  const { bosToken } = tokenizer
  const written = bosToken !== '' && text.startsWith(bosToken) && isTemplateText(0, bosToken.length)
  return tokenizer.encodeWhere(text, isTemplateText, { bos: !written, limit: options.limit })
}
