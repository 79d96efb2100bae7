import { judge } from '../../admission/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { Call, GatewayContext } from '../context.ts'
import { errorResponse } from '../errors.ts'
import type { Prepared, Surface } from '../input/index.ts'
import { outputWithin } from '../tenants/index.ts'
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
      context.options.telemetry(unprepared(prepared))
      return errorResponse(prepared.error)
    case 'tokens':
      throw new Error('a generation was prepared as a count')
    case 'generation':
      return start(context, call, prepared)
  }
}

/** A request is refused for what it says; one that could not be read for a fault of ours has failed. */
const unprepared = ({ model, error, at }: Extract<Prepared, { kind: 'error' }>): TelemetryEvent => {
  const named = { model: model ?? noModel, code: error.code }
  return error.code === 'internal' ? { kind: 'request_failed', ...named, at } : { kind: 'request_refused', ...named }
}

const start = (context: GatewayContext, call: Call, prepared: GenerationPrepared): Promise<Response> => {
  const { request, ids, complete } = prepared
  const model = context.models.get(request.model)
  if (!model) throw new Error('a request was prepared for a model that is not served')
  const { maxOutput, n } = request
  const promptTokensIs = complete ? 'exact' : 'at_least'
  const promptTokens = ids.length
  const { limits, pageBytes, defaultMaxTokens } = model
  const quota = call.tenant.limits?.kvBytes
  // Where a client leaves the length open, it is to get what its quota has room for, not a refusal (R2).
  const room =
    quota === undefined
      ? defaultMaxTokens
      : Math.min(defaultMaxTokens, outputWithin(quota, { promptTokens, n, pageSize: limits.pageSize, pageBytes }))
  const verdict = judge(limits, { promptTokens, promptTokensIs, maxOutput, n }, room)
  return new Promise((respond) => runExchange(context, call, model, prepared, verdict, respond))
}
