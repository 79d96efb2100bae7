import type { Verdict } from './types.ts'

type Refused = Extract<Verdict, { readonly kind: 'refused' }>

/**
 * OpenAI's two wordings, which clients match with regular expressions. Counts that are a floor say "at least".
 * Where n sequences fail only by rounding up to whole pages, one sentence more says so.
 */
export function refusalMessage(verdict: Refused): string {
  const { nCtx, promptTokens, outputTokens } = verdict
  const start = `This model's maximum context length is ${nCtx} tokens. However, `
  const end = 'Please reduce the length of the messages'
  if (verdict.cause === 'prompt') {
    const least = verdict.promptTokensIs === 'at_least' ? 'at least ' : ''
    return `${start}your messages resulted in ${least}${promptTokens} tokens. ${end}.`
  }
  const total = promptTokens + outputTokens
  const rounding = total <= nCtx ? ' Each of the n completions is held in whole pages of the decode pool.' : ''
  return `${start}you requested ${total} tokens (${promptTokens} in the messages, ${outputTokens} in the completion). ${end} or completion.${rounding}`
}
