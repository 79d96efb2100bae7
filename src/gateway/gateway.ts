import { type Call, createContext, type GatewayContext } from './context.ts'
import { errorBody, errorResponse, placeOf } from './errors.ts'
import { echoableId, hex } from './ids.ts'
import type { GatewayHandler, GatewayOptions } from './options.ts'
import { matchRoute, type Route } from './routes.ts'
import { generate } from './surfaces/generate.ts'
import { listModels, showModel } from './surfaces/models.ts'
import { health, metrics, ready, securityTxt } from './surfaces/operations.ts'
import { showAsset, showFeed } from './surfaces/page.ts'
import { tokenize } from './surfaces/tokenize.ts'
import { bearerToken, type Tenant } from './tenants/index.ts'

interface Outcome {
  readonly response: Response
  /** For metrics and logs: the route's name, or what it was instead. */
  readonly route: string
  readonly tenant: string | null
}

/**
 * The whole HTTP surface as one function of web standards. Order: exact route (404, 405), then key (401), then body, legality,
 * rates. Never rejects: a fault of ours is a 500 that says nothing more. Every answer carries `x-request-id`.
 */
export const createGateway = (options: GatewayOptions): GatewayHandler => {
  const context = createContext(options)
  const { clock, random, telemetry } = options
  return async (request, { releaseBody = () => undefined }) => {
    const arrivedAt = clock.now()
    const requestId = `req_${hex(random.bytes(16))}`
    const { response, route, tenant } = await answer(context, request, { requestId, arrivedAt, releaseBody }).catch(
      (error: unknown) => failed(context, error),
    )
    telemetry({
      kind: 'http_request',
      requestId,
      tenant,
      method: knownMethod(request.method),
      route,
      status: response.status,
      seconds: (clock.now() - arrivedAt) / 1000,
    })
    response.headers.set('x-request-id', requestId)
    const clientId =
      echoableId(request.headers.get('x-client-request-id')) ?? echoableId(request.headers.get('x-request-id'))
    if (clientId !== null) response.headers.set('x-client-request-id', clientId)
    return request.method === 'HEAD' ? new Response(null, response) : response
  }
}

// A method is a client's own word; as a label it would be unbounded.
const knownMethod = (method: string): string => (['GET', 'HEAD', 'POST', 'OPTIONS'].includes(method) ? method : 'other')

const answer = async (
  context: GatewayContext,
  request: Request,
  arrival: Omit<Call, 'request' | 'tenant'>,
): Promise<Outcome> => {
  const match = matchRoute(request.method, new URL(request.url).pathname, context.assets)
  switch (match.kind) {
    case 'not_found':
      return { response: notFound(), route: 'none', tenant: null }
    case 'wrong_method': {
      const error = errorBody({ code: 'method_not_allowed', message: `This path supports ${match.allow}.` })
      return { response: errorResponse(error, { allow: match.allow }), route: 'none', tenant: null }
    }
    case 'matched': {
      const { kind } = match.route
      const open = openSurface(context, request, match.route)
      if (open) return { response: open, route: kind, tenant: null }
      const tenant = authenticate(context, request)
      if (tenant === null) return { response: unauthorized(request), route: kind, tenant: null }
      const call: Call = { ...arrival, request, tenant }
      return { response: await keyedSurface(context, call, match.route), route: kind, tenant: tenant.id }
    }
  }
}

const notFound = (): Response =>
  errorResponse(errorBody({ code: 'not_found', message: 'There is nothing at this path.' }))

const authenticate = (context: GatewayContext, request: Request): Tenant | null => {
  const key = bearerToken(request.headers)
  return key === null ? null : context.keys.tenant(key)
}

const unauthorized = (request: Request): Response => {
  const message = request.headers.has('authorization')
    ? 'Incorrect API key provided.'
    : "You didn't provide an API key. Send it in an Authorization header, as in 'Authorization: Bearer YOUR_KEY'."
  return errorResponse(errorBody({ code: 'invalid_api_key', message }))
}

/** Surfaces without a tenant's key; null for those that need one. */
const openSurface = (context: GatewayContext, request: Request, route: Route): Response | null => {
  const { options } = context
  switch (route.kind) {
    case 'health':
      return health()
    case 'ready':
      return ready(context)
    case 'metrics':
      return metrics(context)
    case 'security_txt':
      return options.securityTxt === null ? notFound() : securityTxt(options.securityTxt)
    case 'admin_feed':
      return showFeed(request, context.keys, options.feed)
    case 'asset': {
      const asset = options.page.find(({ path }) => path === route.path)
      return asset ? showAsset(asset) : notFound()
    }
    default:
      return null
  }
}

const keyedSurface = (context: GatewayContext, call: Call, route: Route): Response | Promise<Response> => {
  switch (route.kind) {
    case 'chat_completions':
      return generate(context, call, 'chat')
    case 'completions':
      return generate(context, call, 'completions')
    case 'models':
      return listModels(context)
    case 'model':
      return showModel(context, route.id)
    case 'tokenize':
      return tokenize(context, call)
    default:
      return notFound()
  }
}

/** A fault of ours. Whatever it was may quote the request: the client hears the code, the operator also the place. */
const failed = (context: GatewayContext, cause: unknown): Outcome => {
  context.options.telemetry({ kind: 'request_failed', model: 'none', code: 'internal', at: placeOf(cause) })
  const error = errorBody({ code: 'internal', message: 'The server failed to handle this request.' })
  return { response: errorResponse(error), route: 'none', tenant: null }
}
