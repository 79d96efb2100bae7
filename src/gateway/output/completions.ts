import { completionLogprobs } from './logprobs.ts'
import type { AnswerFormat, AnswerMeta } from './types.ts'
import { usageBody } from './usage.ts'

/** Messages of `POST /v1/completions`. */
export const completionsFormat = (meta: AnswerMeta): AnswerFormat => {
  const envelope = { id: meta.id, object: 'text_completion', created: meta.created, model: meta.model }
  const noUsage = meta.includeUsage ? { usage: null } : {}
  const chunk = (index: number, text: string, logprobs: object | null, finishReason: string | null): object => ({
    ...envelope,
    choices: [{ index, text, logprobs, finish_reason: finishReason }],
    ...noUsage,
  })
  return {
    opening: () => null,
    text: (sequence, text, tokens) =>
      chunk(sequence, text, meta.logprobs ? completionLogprobs(tokens, meta.tokenizer) : null, null),
    finish: (sequence, reason) => chunk(sequence, '', null, reason),
    usage: (usage) => ({ ...envelope, choices: [], usage: usageBody(usage) }),
    whole: (choices, usage) => ({
      ...envelope,
      choices: choices.map(({ text, tokens, reason }, index) => ({
        index,
        text,
        logprobs: meta.logprobs ? completionLogprobs(tokens, meta.tokenizer) : null,
        finish_reason: reason,
      })),
      usage: usageBody(usage),
    }),
  }
}
