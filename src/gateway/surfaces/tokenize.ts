import { effectiveWindow, refusalMessage } from '../../admission/index.ts'
import type { Call, GatewayContext } from '../context.ts'
import { errorBody, errorResponse } from '../errors.ts'
import { json } from './models.ts'
import { prepareCall } from './prepared.ts'

/** `POST /tokenize`: the ids that a prompt or conversation is counted as, and the window they are counted against. */
export const tokenize = async (context: GatewayContext, call: Call): Promise<Response> => {
  const prepared = await prepareCall(context, call, 'tokenize')
  if (prepared.kind === 'error') return errorResponse(prepared.error)
  if (prepared.kind === 'generation') throw new Error('a count was prepared as a generation')
  const { model, ids, complete } = prepared
  const limits = context.models.get(model)?.limits
  const window = limits === undefined ? 0 : effectiveWindow(limits)
  if (complete) return json({ count: ids.length, max_model_len: window, tokens: [...ids] })
  return errorResponse(
    errorBody({
      code: 'context_length_exceeded',
      message: refusalMessage({ cause: 'prompt', nCtx: window, promptTokens: ids.length, outputTokens: 0 }),
      details: { n_prompt_tokens: ids.length, n_prompt_tokens_is: 'at_least', n_ctx: window },
    }),
  )
}
