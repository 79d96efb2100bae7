import { refusalMessage, type Verdict } from '../../admission/index.ts'
import { type ErrorBody, errorBody } from '../errors.ts'
import type { Surface } from '../input/index.ts'

type Refused = Extract<Verdict, { kind: 'refused' }>

/** R2's refusal as OpenAI's `context_length_exceeded`, with the numbers that a client needs to mend its request. */
export const refusalError = (refused: Refused, surface: Surface): ErrorBody =>
  errorBody({
    code: 'context_length_exceeded',
    message: refusalMessage(refused),
    param: surface === 'chat' ? 'messages' : 'prompt',
    details: {
      n_prompt_tokens: refused.promptTokens,
      n_prompt_tokens_is: refused.promptTokensIs,
      n_output_tokens: refused.outputTokens,
      n_ctx: refused.nCtx,
      bound: refused.bound,
    },
  })
