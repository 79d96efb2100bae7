import type { ReleasedToken } from '../exchange/index.ts'

type TokenBytes = (id: number) => Uint8Array

interface Entry {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[]
}

// JSON has no -Infinity; OpenAI writes impossible tokens so.
const finite = (logprob: number | null): number => (logprob === null || logprob < -9999 ? -9999 : logprob)

const entry = (id: number, logprob: number | null, tokenBytes: TokenBytes): Entry => {
  const bytes = tokenBytes(id)
  return { token: new TextDecoder().decode(bytes), logprob: finite(logprob), bytes: [...bytes] }
}

/** `choices[].logprobs` of chat completions. A token that is part of a character shows as U+FFFD with its true `bytes`. */
export const chatLogprobs = (tokens: readonly ReleasedToken[], tokenBytes: TokenBytes): object => ({
  content: tokens.map(({ sampled }) => ({
    ...entry(sampled.token, sampled.logprob, tokenBytes),
    top_logprobs: sampled.top.map(({ token, logprob }) => entry(token, logprob, tokenBytes)),
  })),
  refusal: null,
})

/** `choices[].logprobs` of completions, in its older columnar form; `text_offset` counts from the start of the answer. */
export const completionLogprobs = (tokens: readonly ReleasedToken[], tokenBytes: TokenBytes): object => ({
  tokens: tokens.map(({ sampled }) => entry(sampled.token, null, tokenBytes).token),
  token_logprobs: tokens.map(({ sampled }) => finite(sampled.logprob)),
  top_logprobs: tokens.map(({ sampled }) =>
    Object.fromEntries(
      sampled.top.map(({ token, logprob }) => [entry(token, logprob, tokenBytes).token, finite(logprob)]),
    ),
  ),
  text_offset: tokens.map(({ offset }) => offset),
})
