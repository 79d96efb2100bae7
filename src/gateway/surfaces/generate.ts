import { judge } from '../../admission/index.ts'
import type { Call, GatewayContext } from '../context.ts'
import { errorResponse } from '../errors.ts'
import type { Surface } from '../input/index.ts'
import { prepareCall } from './prepared.ts'
import { type GenerationPrepared, runExchange } from './run.ts'

/** A label for metrics where a request named no model that is served; a client's own word would be unbounded. */
const noModel = 'none'

/**
 * `POST /v1/chat/completions` and `/v1/completions`: read, count, judge (R2), clear with the tenant's rates, and hand over. Resolves
 * when a status is certain: at the first verified token of a stream, at the end of anything else.
 */
export const generate = async (context: GatewayContext, call: Call, surface: Surface): Promise<Response> => {
  const prepared = await prepareCall(context, call, surface)
  switch (prepared.kind) {
    case 'error':
      context.options.telemetry({
        kind: 'request_refused',
        model: prepared.model ?? noModel,
        code: prepared.error.code,
      })
      return errorResponse(prepared.error)
    case 'tokens':
      throw new Error('a generation was prepared as a count')
    case 'generation':
      return start(context, call, prepared)
  }
}

const start = (context: GatewayContext, call: Call, prepared: GenerationPrepared): Promise<Response> => {
  const { request, ids, complete } = prepared
  const model = context.models.get(request.model)
  if (!model) throw new Error('a request was prepared for a model that is not served')
  const { maxOutput, n } = request
  const promptTokensIs = complete ? 'exact' : 'at_least'
  const verdict = judge(
    model.limits,
    { promptTokens: ids.length, promptTokensIs, maxOutput, n },
    model.defaultMaxTokens,
  )
  return new Promise((respond) => runExchange(context, call, model, prepared, verdict, respond))
}
