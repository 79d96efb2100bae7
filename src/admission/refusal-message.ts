import type { Verdict } from './types.ts'

type Refused = Extract<Verdict, { readonly kind: 'refused' }>

/**
 * OpenAI's two wordings, to the letter, since clients match them with regular expressions. That a count is a floor stands in the
 * details (`n_prompt_tokens_is`).
 * Where n sequences fail only by rounding up to whole pages, one sentence more says so.
 */
export function refusalMessage(verdict: Pick<Refused, 'cause' | 'nCtx' | 'promptTokens' | 'outputTokens'>): string {
  const { nCtx, promptTokens, outputTokens } = verdict
  const start = `This model's maximum context length is ${nCtx} tokens. However, `
  const end = 'Please reduce the length of the messages'
  if (verdict.cause === 'prompt') {
    return `${start}your messages resulted in ${promptTokens} tokens. ${end}.`
  }
  const total = promptTokens + outputTokens
  const rounding = total <= nCtx ? ' Each of the n completions is held in whole pages of the decode pool.' : ''
  return `${start}you requested ${total} tokens (${promptTokens} in the messages, ${outputTokens} in the completion). ${end} or completion.${rounding}`
}
