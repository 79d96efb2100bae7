import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type Ending =
  /** Every byte was handed over and the message ended as its framing says. */
  | 'complete'
  /** The handler's stream failed or did not match its declared length: the connection was cut. */
  | 'reset'
  /** The client went away or stopped reading. */
  | 'disconnected'

// Ours to say, or meaningless from a handler.
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'trailer',
  'te',
  'proxy-connection',
])
/** A body that is whole within so many bytes is sent with its length. */
const WHOLE_BYTES = 256 * 2 ** 10

export interface SendOptions {
  readonly headOnly: boolean
  readonly writeStallMs: number
  /** Awaited when every byte has been written but the message is not ended yet: hears out a client that still writes. */
  readonly beforeEnd: (() => Promise<void>) | null
}

/** Sends a web Response under back-pressure. Never ends cleanly after a failure (R12). Does not throw. */
export const sendResponse = async (res: ServerResponse, response: Response, options: SendOptions): Promise<Ending> => {
  try {
    res.statusCode = response.status
    if (response.statusText) res.statusMessage = response.statusText
    copyHeaders(res, response.headers)
  } catch {
    await response.body?.cancel().catch(() => undefined)
    return cut(res, options.writeStallMs)
  }
  if (options.headOnly || response.body === null) {
    await response.body?.cancel().catch(() => undefined)
    if (!options.headOnly && response.status >= 200 && response.status !== 204 && response.status !== 304) {
      res.setHeader('content-length', 0)
    }
    await options.beforeEnd?.()
    return end(res, options.writeStallMs)
  }
  return sendBody(res, response.body.getReader(), isEventStream(response.headers), options)
}

const isEventStream = (headers: Headers): boolean => (headers.get('content-type') ?? '').startsWith('text/event-stream')

const copyHeaders = (res: ServerResponse, headers: Headers): void => {
  for (const [name, value] of headers) {
    if (name !== 'set-cookie' && !HOP_BY_HOP.has(name)) res.setHeader(name, value)
  }
  const cookies = headers.getSetCookie()
  if (cookies.length > 0) res.setHeader('set-cookie', cookies)
}

const sendBody = async (
  res: ServerResponse,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  live: boolean,
  { writeStallMs: stallMs, beforeEnd }: SendOptions,
): Promise<Ending> => {
  const leave = (): void => void reader.cancel(new Error('client_gone')).catch(() => undefined)
  res.once('close', leave)
  let ending: Ending = 'reset'
  try {
    ending = await pump(res, reader, live, stallMs, beforeEnd)
  } catch {
    ending = res.destroyed ? 'disconnected' : await cut(res, stallMs)
  }
  res.off('close', leave)
  if (ending !== 'complete') leave()
  return ending
}

const pump = async (
  res: ServerResponse,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  live: boolean,
  stallMs: number,
  beforeEnd: SendOptions['beforeEnd'],
): Promise<Ending> => {
  // The head of an event stream leaves at once; any other body first shows whether it is whole and small.
  let early: Uint8Array[] | null = live ? null : []
  let sent = 0
  if (live) res.flushHeaders()
  for (;;) {
    const { done, value } = await reader.read()
    if (res.destroyed) return 'disconnected'
    if (done) break
    sent += value.byteLength
    if (early && sent <= WHOLE_BYTES) {
      early.push(value)
      continue
    }
    for (const chunk of [...(early ?? []), value]) {
      if (!(await write(res, chunk, stallMs))) return 'disconnected'
    }
    early = null
  }
  const declared = res.getHeader('content-length')
  if (declared !== undefined && Number(declared) !== sent) return cut(res, stallMs)
  if (early && declared === undefined) res.setHeader('content-length', sent)
  for (const chunk of early ?? []) {
    if (!(await write(res, chunk, stallMs))) return 'disconnected'
  }
  await beforeEnd?.()
  return end(res, stallMs)
}

/** False when the client is gone or has stopped reading. */
const write = async (res: ServerResponse, chunk: Uint8Array, stallMs: number): Promise<boolean> => {
  if (res.write(chunk)) return !res.destroyed
  return settled(res, 'drain', stallMs)
}

const end = async (res: ServerResponse, stallMs: number): Promise<Ending> => {
  const finished = settled(res, 'finish', stallMs)
  res.end()
  return (await finished) ? 'complete' : 'disconnected'
}

const settled = (res: ServerResponse, event: 'drain' | 'finish', stallMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    if (res.destroyed) return resolve(false)
    const settle = (fine: boolean): void => {
      clearTimeout(timer)
      res.off(event, yes).off('close', no)
      resolve(fine)
    }
    const yes = (): void => settle(true)
    const no = (): void => settle(false)
    const timer = setTimeout(() => {
      res.destroy()
      settle(false)
    }, stallMs)
    res.on(event, yes).on('close', no)
  })

/**
 * Cuts the connection once what was written has left this process, so that an error frame is seen before the cut.
 * A chunked or counted body that stops short cannot pass for a whole one; a body that ends with its connection could,
 * so that one is reset.
 */
const cut = async (res: ServerResponse, stallMs: number): Promise<Ending> => {
  const socket = res.socket
  if (!socket || res.destroyed) return 'reset'
  await flushed(res, socket, Math.min(stallMs, 5_000))
  const framed = res.headersSent && (res.chunkedEncoding || res.hasHeader('content-length'))
  if (!framed) {
    // Clients on libuv take data and a reset that arrive together for data and an end.
    if (res.headersSent) await new Promise((resolve) => setTimeout(resolve, 50))
    // `resetAndDestroy` ends our side first, which is the clean end this must not be; the flag alone makes `destroy` reset.
    Object.assign(socket, { resetAndClosing: true })
  }
  socket.destroy()
  return 'reset'
}

const flushed = (res: ServerResponse, socket: Socket, patienceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(settle, patienceMs)
    res.once('close', settle)
    if (socket.writableLength === 0) settle()
    else socket.write('', settle)
  })
