import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Refusal, refusalBody, requestId } from './refusal.ts'
import type { HttpLimits } from './types.ts'

/**
 * Answers now and closes the connection gently: a client that is still writing gets the whole answer, is listened to for a
 * bounded time and number of bytes, and only then loses the connection. Closing at once would reset it under its hands, and
 * most clients then report a broken pipe instead of the 413 or 401 they were sent.
 */
export const refuse = async (
  req: IncomingMessage,
  res: ServerResponse,
  refusal: Refusal,
  limits: HttpLimits,
): Promise<void> => {
  if (res.headersSent || res.destroyed) {
    res.destroy()
    return
  }
  const body = refusalBody(refusal)
  res.statusCode = refusal.status
  for (const [name, value] of Object.entries(refusal.headers ?? {})) res.setHeader(name, value)
  res.setHeader('cache-control', 'no-store')
  res.setHeader('content-type', 'application/json')
  res.setHeader('x-request-id', requestId())
  res.setHeader('content-length', body.length)
  const over = ended(res)
  if (!bodyRead(req)) {
    res.setHeader('connection', 'close')
    if (req.method !== 'HEAD') res.write(body)
    await clientFinished(req, limits)
    res.end()
  } else if (req.method === 'HEAD') res.end()
  else res.end(body)
  await over
}

/** Whether nothing of the request is left to arrive or to read. */
export const bodyRead = (req: IncomingMessage): boolean => {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = req.headers
  // While its head is judged a request without a body is not marked complete yet.
  if (coding === undefined && /^0+$/.test(length)) return true
  return req.complete && req.readableLength === 0
}

const lingering = new WeakMap<Duplex, () => void>()

/**
 * Ends the listening on a connection whose bytes can no longer be read as HTTP. True where there was one: everything has been
 * said then, and the answer must not be taken back.
 */
export const stopListening = (socket: Duplex): boolean => {
  const finish = lingering.get(socket)
  finish?.()
  return finish !== undefined
}

/** Discards what the client still sends until it has finished, is gone, or its time or bytes are up. */
export const clientFinished = (req: IncomingMessage, limits: HttpLimits): Promise<void> =>
  new Promise((resolve) => {
    if (bodyRead(req) || req.destroyed) return resolve()
    let discarded = 0
    const finish = (): void => {
      clearTimeout(timer)
      lingering.delete(req.socket)
      req.off('data', count).off('end', finish).off('close', finish)
      req.resume()
      resolve()
    }
    const count = (chunk: Buffer): void => {
      discarded += chunk.length
      if (discarded > limits.lingerBytes) finish()
    }
    const timer = setTimeout(finish, limits.lingerMs)
    lingering.set(req.socket, finish)
    req.on('data', count).on('end', finish).on('close', finish)
    // A listener on `readable` may have paused the request for good; `resume` alone would not start it again.
    req.removeAllListeners('readable')
    req.resume()
  })

const ended = (res: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    res.once('finish', () => resolve()).once('close', () => resolve())
  })
