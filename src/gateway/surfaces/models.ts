import { effectiveWindow } from '../../admission/index.ts'
import type { GatewayContext } from '../context.ts'
import { errorBody, errorResponse } from '../errors.ts'
import { modelNotFoundMessage } from '../input/index.ts'
import type { GatewayModel } from '../options.ts'

const entry = (model: GatewayModel): object => ({
  id: model.id,
  object: 'model',
  created: model.created,
  owned_by: 'bulkhead',
  max_model_len: effectiveWindow(model.limits),
  advertised_context_window: model.limits.advertisedWindow,
})

export const json = (body: object, status = 200): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  })

/** `GET /v1/models`: every served model with its effective and its advertised window (R2). */
export const listModels = (context: GatewayContext): Response =>
  json({ object: 'list', data: [...context.models.values()].map(entry) })

/** `GET /v1/models/{id}`. */
export const showModel = (context: GatewayContext, id: string): Response => {
  const model = context.models.get(id)
  if (model) return json(entry(model))
  return errorResponse(errorBody({ code: 'model_not_found', message: modelNotFoundMessage(id), param: 'model' }))
}
