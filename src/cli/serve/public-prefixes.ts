import type { PromptModel } from '../../gateway/index.ts'
import { type ChatMessage, type Encoded, TextError } from '../../text/index.ts'

/**
 * Token ids of what the operator shares between tenants: each text as the beginning of a completion prompt and, where the model
 * has a chat template that takes one, as the system message of a chat, up to where the user's first word begins.
 */
export function publicPrefixIds(texts: readonly string[], prompt: PromptModel): readonly Int32Array[] {
  return texts.flatMap((text) => {
    const whole = prompt.encodeText(text, prompt.encodeLimit)
    const chat = chatBeginning(text, prompt)
    // One that is too long to be counted is too long to be the beginning of any prompt.
    return [...(whole.complete ? [whole.ids] : []), ...(chat === null ? [] : [chat])]
  })
}

/** What two chats have in common that differ in nothing but what the user says. */
function chatBeginning(system: string, prompt: PromptModel): Int32Array | null {
  if (prompt.encodeChat === null) return null
  const encoded = ['a', '0'].map((said) => {
    const messages: ChatMessage[] = [
      { role: 'system', content: system },
      { role: 'user', content: said },
    ]
    return idsOf(() => prompt.encodeChat!(messages, prompt.encodeLimit))
  })
  const [one, other] = encoded
  if (one === null || other === null || one === undefined || other === undefined) return null
  let length = 0
  while (length < one.length && length < other.length && one[length] === other[length]) length++
  return one.subarray(0, length)
}

/** Null where the template refuses the messages (some know no system message), or they are too long to be counted. */
function idsOf(encode: () => Encoded): Int32Array | null {
  try {
    const { ids, complete } = encode()
    return complete ? ids : null
  } catch (error) {
    if (error instanceof TextError) return null
    throw error
  }
}
