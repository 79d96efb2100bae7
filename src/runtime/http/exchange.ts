import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BodyBudget, requestBody } from './body.ts'
import { type HeadRules, judgeHead } from './head.ts'
import { REFUSALS, type Refusal } from './refusal.ts'
import { bodyRead, clientFinished, refuse } from './refuse.ts'
import { sendResponse } from './response.ts'
import type { HttpEvent, HttpHandler, HttpLimits } from './types.ts'

export interface ExchangeContext {
  readonly handler: HttpHandler
  readonly rules: HeadRules
  readonly limits: HttpLimits
  readonly budget: BodyBudget
  readonly observe: (event: HttpEvent) => void
}

/** One request on one connection, from its head to the end of its response. Settles when the connection may serve the next. */
export const runExchange = async (
  req: IncomingMessage,
  res: ServerResponse,
  context: ExchangeContext,
  expectsContinue: boolean,
): Promise<void> => {
  const { limits, observe } = context
  // Waited behind another exchange on a connection that has ended since.
  if (req.socket.destroyed) return
  const reject = (refusal: Refusal): Promise<void> => {
    observe({ kind: 'http_refused', code: refusal.code })
    return refuse(req, res, refusal, limits)
  }
  const verdict = judgeHead(
    { method: req.method ?? '', target: req.url ?? '', version: req.httpVersion, rawHeaders: req.rawHeaders },
    context.rules,
  )
  if (verdict.kind === 'refused') return reject(verdict.refusal)
  const gone = new AbortController()
  const onClose = (): void => {
    if (res.writableFinished) return
    observe({ kind: 'http_disconnect', code: 'client_gone' })
    gone.abort(new Error('client_gone'))
  }
  res.once('close', onClose)

  let refused: Promise<void> | null = null
  const body = requestBody(
    req,
    limits,
    context.budget,
    () => {
      if (expectsContinue) res.writeContinue()
    },
    (refusal) => {
      // The adapter answers itself; what the handler still makes of the request goes nowhere.
      res.off('close', onClose)
      refused = reject(refusal)
      gone.abort(new Error(refusal.code))
    },
  )
  const isHead = verdict.method === 'HEAD'
  const method = isHead ? 'GET' : verdict.method
  const takesBody = verdict.hasBody && method !== 'GET'
  const request = webRequest(`http://${verdict.host}${req.url}`, req.rawHeaders, {
    method,
    signal: gone.signal,
    ...(takesBody ? { body: body.stream, duplex: 'half' } : {}),
  } as RequestInit)
  if (!request) {
    res.off('close', onClose)
    return reject(REFUSALS.badRequest)
  }

  let response: Response | null = null
  try {
    response = await context.handler(request, {
      remoteAddress: req.socket.remoteAddress ?? '',
      releaseBody: body.release,
    })
  } catch {
    observe({ kind: 'http_handler_error', code: 'handler_threw' })
  }
  body.release()
  if (refused || res.destroyed) {
    response?.body?.cancel(new Error('client_gone')).catch(() => undefined)
    return refused ?? undefined
  }
  if (!response) {
    res.off('close', onClose)
    return reject(REFUSALS.failed)
  }

  // A body nobody read is discarded while the answer goes out, and the connection is not used again.
  const unread = !bodyRead(req)
  if (unread) res.setHeader('connection', 'close')
  const ending = await sendResponse(res, response, {
    headOnly: isHead,
    writeStallMs: limits.writeStallMs,
    beforeEnd: unread ? () => clientFinished(req, limits) : null,
  })
  res.off('close', onClose)
  if (ending === 'reset') observe({ kind: 'http_reset', code: 'stream_failed' })
}

/** Null for what Node.js lets pass and the web's types do not. */
const webRequest = (url: string, rawHeaders: readonly string[], init: RequestInit): Request | null => {
  try {
    const headers = new Headers()
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!)
    return new Request(url, { ...init, headers })
  } catch {
    return null
  }
}
