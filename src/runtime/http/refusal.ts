import { randomBytes } from 'node:crypto'

/** An answer the adapter gives before or instead of the handler. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Names an answer the handler never saw; the handler makes the ids of all others in the same form. */
export const requestId = (): string => `req_${randomBytes(16).toString('hex')}`

/** OpenAI's error shape as bytes. */
export const refusalBody = (refusal: Refusal): Uint8Array => {
  const type = refusal.status >= 500 ? 'server_error' : 'invalid_request_error'
  const error = { message: refusal.message, type, param: null, code: refusal.code }
  return new TextEncoder().encode(JSON.stringify({ error }))
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
}

/** The same as a whole HTTP/1.1 message, for a connection whose request never became one. */
export const rawRefusal = (refusal: Refusal): Buffer => {
  const body = refusalBody(refusal)
  const head =
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status] ?? 'Error'}\r\ncontent-type: application/json\r\n` +
    `cache-control: no-store\r\nx-request-id: ${requestId()}\r\n` +
    `content-length: ${body.length}\r\nconnection: close\r\n\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}

export const REFUSALS = {
  notFound: { status: 404, code: 'not_found', message: 'There is nothing at this path.' },
  badRequest: { status: 400, code: 'malformed_request', message: 'The request is not well-formed HTTP/1.1.' },
  badHost: {
    status: 400,
    code: 'invalid_host',
    message: 'The request needs exactly one Host header that names a host.',
  },
  foreignHost: {
    status: 421,
    code: 'misdirected_request',
    message: 'This server does not answer for that host. Names it answers for are listed under allowed_hosts.',
  },
  method: {
    status: 405,
    code: 'method_not_allowed',
    message: 'This method is not supported.',
    headers: { allow: 'GET, POST, HEAD, OPTIONS' },
  },
  version: { status: 505, code: 'http_version_not_supported', message: 'Only HTTP/1.0 and HTTP/1.1 are spoken here.' },
  expectation: { status: 417, code: 'expectation_failed', message: 'The only expectation met here is 100-continue.' },
  encoding: { status: 415, code: 'unsupported_content_encoding', message: 'Send the body without Content-Encoding.' },
  transferEncoding: {
    status: 400,
    code: 'unsupported_transfer_encoding',
    message: 'The only transfer coding read here is chunked.',
  },
  tooLarge: { status: 413, code: 'request_too_large', message: 'The request body is larger than this server accepts.' },
  stalled: { status: 408, code: 'request_timeout', message: 'The request body did not arrive in time.' },
  headersStalled: { status: 408, code: 'request_timeout', message: 'The request headers did not arrive in time.' },
  headersTooLarge: {
    status: 431,
    code: 'headers_too_large',
    message: 'The request headers are larger than this server accepts.',
  },
  broken: { status: 400, code: 'malformed_request', message: 'The request body is not framed as its headers say.' },
  busy: {
    status: 503,
    code: 'overloaded',
    message: 'Too many request bodies are being read; try again.',
    headers: { 'retry-after': '1' },
  },
  failed: { status: 500, code: 'internal', message: 'The server failed to handle the request.' },
} as const satisfies Readonly<Record<string, Refusal>>
