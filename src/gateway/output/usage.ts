import type { Usage } from '../exchange/index.ts'

/** OpenAI's `usage`. */
export const usageBody = (usage: Usage): object => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedTokens },
})
