import { displayToken, type Tokenizer } from '../../text/index.ts'
import type { ReleasedToken } from '../exchange/index.ts'

// JSON has no -Infinity; OpenAI writes impossible tokens so.
const finite = (logprob: number | null): number => (logprob === null || logprob < -9999 ? -9999 : logprob)

const entry = (tokenizer: Tokenizer, id: number, logprob: number | null): object => {
  const { token, bytes } = displayToken(tokenizer, id)
  return { token, logprob: finite(logprob), bytes }
}

/** `choices[].logprobs` of chat completions: one entry per token whose text is in this message. */
export const chatLogprobs = (tokens: readonly ReleasedToken[], tokenizer: Tokenizer): object => ({
  content: tokens.map(({ sampled }) => ({
    ...entry(tokenizer, sampled.token, sampled.logprob),
    top_logprobs: sampled.top.map(({ token, logprob }) => entry(tokenizer, token, logprob)),
  })),
  refusal: null,
})

/** `choices[].logprobs` of completions, in its older columnar form; `text_offset` counts from the start of the answer. */
export const completionLogprobs = (tokens: readonly ReleasedToken[], tokenizer: Tokenizer): object => ({
  tokens: tokens.map(({ sampled }) => displayToken(tokenizer, sampled.token).token),
  token_logprobs: tokens.map(({ sampled }) => finite(sampled.logprob)),
  top_logprobs: tokens.map(({ sampled }) =>
    Object.fromEntries(
      sampled.top.map(({ token, logprob }) => [displayToken(tokenizer, token).token, finite(logprob)]),
    ),
  ),
  text_offset: tokens.map(({ offset }) => offset),
})
