import { chatLogprobs } from './logprobs.ts'
import type { AnswerFormat, AnswerMeta } from './types.ts'
import { usageBody } from './usage.ts'

/** Messages of `POST /v1/chat/completions`. */
export const chatFormat = (meta: AnswerMeta): AnswerFormat => {
  const envelope = { id: meta.id, object: 'chat.completion.chunk', created: meta.created, model: meta.model }
  const noUsage = meta.includeUsage ? { usage: null } : {}
  const chunk = (index: number, delta: object, logprobs: object | null, finishReason: string | null): object => ({
    ...envelope,
    choices: [{ index, delta, logprobs, finish_reason: finishReason }],
    ...noUsage,
  })
  return {
    opening: (sequence) => chunk(sequence, { role: 'assistant', content: '' }, null, null),
    text: (sequence, text, tokens) =>
      chunk(sequence, { content: text }, meta.logprobs ? chatLogprobs(tokens, meta.tokenizer) : null, null),
    finish: (sequence, reason) => chunk(sequence, {}, null, reason),
    usage: (usage) => ({ ...envelope, choices: [], usage: usageBody(usage) }),
    whole: (choices, usage) => ({
      ...envelope,
      object: 'chat.completion',
      choices: choices.map(({ text, tokens, reason }, index) => ({
        index,
        message: { role: 'assistant', content: text, refusal: null },
        logprobs: meta.logprobs ? chatLogprobs(tokens, meta.tokenizer) : null,
        finish_reason: reason,
      })),
      usage: usageBody(usage),
    }),
  }
}
