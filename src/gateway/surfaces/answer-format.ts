import type { GatewayContext } from '../context.ts'
import { hex } from '../ids.ts'
import type { GenerationRequest } from '../input/index.ts'
import type { GatewayModel } from '../options.ts'
import { type AnswerFormat, type AnswerMeta, chatFormat, completionsFormat } from '../output/index.ts'

/** The messages in which a request is answered, with an id of their own. */
export const answerFormat = (
  context: GatewayContext,
  model: GatewayModel,
  request: GenerationRequest,
): AnswerFormat => {
  const { clock, random } = context.options
  const suffix = hex(random.bytes(12))
  const meta: Omit<AnswerMeta, 'id'> = {
    created: Math.floor(clock.wall() / 1000),
    model: model.id,
    includeUsage: request.includeUsage,
    logprobs: request.topLogprobs !== null,
    tokenizer: model.tokenizer,
  }
  return request.surface === 'chat'
    ? chatFormat({ ...meta, id: `chatcmpl-${suffix}` })
    : completionsFormat({ ...meta, id: `cmpl-${suffix}` })
}
