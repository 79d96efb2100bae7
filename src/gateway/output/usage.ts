import type { Usage } from '../exchange/index.ts'

/** OpenAI's `usage`. No prompt token comes from a cache: there is no prefix reuse on this engine yet. */
export const usageBody = (usage: Usage): object => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
  prompt_tokens_details: { cached_tokens: 0 },
})
