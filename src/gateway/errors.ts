/** Every way a request can be answered with an error. Codes are API; messages are not. */
export type GatewayCode =
  | 'invalid_json'
  | 'invalid_type'
  | 'invalid_value'
  | 'missing_required_parameter'
  | 'invalid_parameter_combination'
  | 'unsupported_parameter'
  | 'unsupported_value'
  | 'context_length_exceeded'
  | 'kv_quota_exceeded'
  | 'invalid_api_key'
  | 'not_found'
  | 'method_not_allowed'
  | 'model_not_found'
  | 'request_too_large'
  | 'body_unreadable'
  | 'rate_limit_exceeded'
  | 'queue_full'
  | 'queue_timeout'
  | 'unavailable'
  | 'worker_lost'
  | 'kv_integrity'
  | 'internal'

interface Convention {
  readonly status: number
  /** OpenAI's `error.type`. */
  readonly type: string
}

const invalidRequest = (status: number): Convention => ({ status, type: 'invalid_request_error' })
const notNow: Convention = { status: 503, type: 'service_unavailable_error' }
const ourFault: Convention = { status: 500, type: 'server_error' }

const conventions: Readonly<Record<GatewayCode, Convention>> = {
  invalid_json: invalidRequest(400),
  invalid_type: invalidRequest(400),
  invalid_value: invalidRequest(400),
  missing_required_parameter: invalidRequest(400),
  invalid_parameter_combination: invalidRequest(400),
  unsupported_parameter: invalidRequest(400),
  unsupported_value: invalidRequest(400),
  context_length_exceeded: invalidRequest(400),
  kv_quota_exceeded: invalidRequest(400),
  invalid_api_key: invalidRequest(401),
  not_found: invalidRequest(404),
  method_not_allowed: invalidRequest(405),
  model_not_found: invalidRequest(404),
  request_too_large: invalidRequest(413),
  body_unreadable: invalidRequest(400),
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  queue_full: notNow,
  queue_timeout: notNow,
  unavailable: notNow,
  worker_lost: notNow,
  kv_integrity: ourFault,
  internal: ourFault,
}

export type ErrorDetails = Readonly<Record<string, string | number | boolean | null>>

/** An error as data: it crosses threads, and it is all that a client is told. Never holds prompt text, answer text or a key. */
export interface ErrorBody {
  readonly code: GatewayCode
  readonly message: string
  /** The field at fault, as a path such as `messages[2].content`; null where no field is. */
  readonly param: string | null
  readonly details: ErrorDetails | null
  readonly retryAfterSeconds: number | null
}

export interface ErrorInput {
  readonly code: GatewayCode
  readonly message: string
  readonly param?: string | null
  readonly details?: ErrorDetails | null
  readonly retryAfterSeconds?: number | null
}

export const errorBody = (input: ErrorInput): ErrorBody => ({
  code: input.code,
  message: input.message,
  param: input.param ?? null,
  details: input.details ?? null,
  retryAfterSeconds: input.retryAfterSeconds ?? null,
})

/** Thrown while a request is read, turned into `ErrorBody` at the room's edge; never crosses a door. */
export class GatewayError extends Error {
  readonly code: GatewayCode
  readonly details: ErrorDetails | null
  readonly body: ErrorBody

  constructor(input: ErrorInput & { readonly cause?: unknown }) {
    super(input.message, { cause: input.cause })
    this.name = 'GatewayError'
    this.code = input.code
    this.details = input.details ?? null
    this.body = errorBody(input)
  }
}

/**
 * Where in our own sources an error was thrown, as `gateway/surfaces/run.js:66`; null where that cannot be told. A fault of ours is
 * mended by whoever knows its place; its message stays behind, since it may quote a request.
 */
export const placeOf = (error: unknown): string | null => {
  if (!(error instanceof Error) || error.stack === undefined) return null
  const from = error.stack.indexOf(error.message)
  if (from < 0) return null
  const frames = error.stack.slice(from + error.message.length)
  return /\/(?:src|dist)\/([\w./-]+\.[jt]s:\d+)/.exec(frames)?.[1] ?? null
}

export const statusOf = (code: GatewayCode): number => conventions[code].status

/** OpenAI's body, `{"error":{message,type,param,code}}`, plus `details` where there are any. */
export const openaiError = (error: ErrorBody): { readonly error: Readonly<Record<string, unknown>> } => ({
  error: {
    message: error.message,
    type: conventions[error.code].type,
    param: error.param,
    code: error.code,
    ...(error.details === null ? {} : { details: error.details }),
  },
})

/** The one place where a code becomes a status, headers and a body of the OpenAI surfaces. */
export const errorResponse = (error: ErrorBody, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(JSON.stringify(openaiError(error)), {
    status: statusOf(error.code),
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(error.retryAfterSeconds === null ? {} : { 'retry-after': String(error.retryAfterSeconds) }),
      ...(error.code === 'invalid_api_key' ? { 'www-authenticate': 'Bearer' } : {}),
      ...headers,
    },
  })
