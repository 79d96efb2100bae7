import { judge } from '../../admission/index.ts'
import type { Call, GatewayContext } from '../context.ts'
import { errorResponse } from '../errors.ts'
import type { Prepared, Surface } from '../input/index.ts'
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
  const refuse = (error: Extract<Prepared, { kind: 'error' }>): Response => {
    context.options.telemetry({ kind: 'request_refused', model: error.model ?? noModel, code: error.error.code })
    return errorResponse(error.error)
  }
  if (prepared.kind === 'error') return refuse(prepared)
  if (prepared.kind === 'tokens') throw new Error('a generation was prepared as a count')
  return start(context, call, prepared)
}

const start = (context: GatewayContext, call: Call, prepared: GenerationPrepared): Promise<Response> => {
  const { request, ids, complete } = prepared
  const model = context.models.get(request.model)
  if (!model) throw new Error('a request was prepared for a model that is not served')
  const verdict = judge(
    model.limits,
    {
      promptTokens: ids.length,
      promptTokensIs: complete ? 'exact' : 'at_least',
      maxOutput: request.maxOutput,
      n: request.n,
    },
    model.defaultMaxTokens,
  )
  return new Promise((respond) => runExchange(context, call, model, prepared, verdict, respond))
}
