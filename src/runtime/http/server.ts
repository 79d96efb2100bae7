import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createBodyBudget } from './body.ts'
import { type ExchangeContext, runExchange } from './exchange.ts'
import { defaultHosts } from './hosts.ts'
import { REFUSALS, type Refusal, rawRefusal } from './refusal.ts'
import { refuse, stopListening } from './refuse.ts'
import { DEFAULT_LIMITS, type HttpEvent, type HttpHandler, type HttpLimits } from './types.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly handler: HttpHandler
  /** Host header values answered for, with or without a port; default `defaultHosts(host)`. */
  readonly allowedHosts?: readonly string[]
  readonly limits?: Partial<HttpLimits>
  readonly observe?: (event: HttpEvent) => void
}

export interface HttpServer {
  readonly host: string
  readonly port: number
  /** `http://HOST:PORT`, the host in brackets where it is an IPv6 address. */
  readonly url: string
  /** Takes no new connection, lets running exchanges end for `graceMs`, then cuts them. */
  stop(graceMs: number): Promise<void>
}

/** Exchanges of one connection, strictly one after the other. */
interface Line {
  readonly waiting: (() => Promise<void>)[]
  running: boolean
  /** The connection's last words are said; what still comes is not read. */
  closing: boolean
  /** The response that is being made, for errors of the connection itself. */
  response: ServerResponse | null
}

/** Listens; rejects with the system's error when it cannot. */
export const listen = async (options: ListenOptions): Promise<HttpServer> => {
  const limits: HttpLimits = { ...DEFAULT_LIMITS, ...options.limits }
  const observe = options.observe ?? (() => undefined)
  const context: ExchangeContext = {
    handler: options.handler,
    rules: {
      allowedHosts: new Set((options.allowedHosts ?? defaultHosts(options.host)).map((name) => name.toLowerCase())),
      bodyBytes: limits.bodyBytes,
    },
    limits,
    budget: createBodyBudget(limits.bodyBytesInFlight),
    observe,
  }
  const lines = new WeakMap<Duplex, Line>()
  const server = createServer({
    headersTimeout: limits.headersMs,
    // Bodies have their own, finer clock; this one would answer for both in the same words.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    maxHeaderSize: limits.headerBytes,
    // Judged with everything else about the head, in one place and one error shape.
    requireHostHeader: false,
    highWaterMark: 64 * 2 ** 10,
    // A client that vanished without a word is found out even while nothing is sent to it.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  })
  server.maxHeadersCount = 0
  server.maxConnections = limits.connections
  server.on('connection', (socket: Socket) => {
    lines.set(socket, { waiting: [], running: false, closing: false, response: null })
    socket.on('error', () => undefined)
  })

  const enter = (req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void => {
    const line = lines.get(req.socket)
    if (!line || line.waiting.length >= limits.pipelined) {
      req.socket.destroy()
      return
    }
    // Without a listener a connection lost in mid-body would be an uncaught error.
    req.on('error', () => undefined)
    line.waiting.push(async () => {
      line.response = res
      await runExchange(req, res, context, expectsContinue)
    })
    if (!line.running) void drain(line, observe)
  }
  const refuseEarly = (req: IncomingMessage, res: ServerResponse, refusal: Refusal): void => {
    observe({ kind: 'http_refused', code: refusal.code })
    void refuse(req, res, refusal, limits)
  }

  server.on('request', (req, res) => enter(req, res, false))
  server.on('checkContinue', (req, res) => enter(req, res, true))
  server.on('checkExpectation', (req, res) => refuseEarly(req, res, REFUSALS.expectation))
  server.on('connect', (_req, socket) => sayAndClose(socket, REFUSALS.method))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const line = lines.get(socket)
    if (!line || line.closing) return
    if (stopListening(socket)) {
      line.closing = true
      return
    }
    const response = line.response
    // Bytes of an answer are on their way, or the client is gone: nothing can be said any more.
    if (
      !socket.writable ||
      (response && !response.writableFinished && response.headersSent) ||
      error.code === 'ECONNRESET'
    ) {
      socket.destroy()
      return
    }
    const refusal = clientRefusal(error.code ?? '', response !== null && !response.writableFinished)
    observe({ kind: 'http_refused', code: refusal.code })
    line.closing = true
    sayAndClose(socket, refusal)
  })
  await open(server, options)
  return handle(server, options.host)
}

const drain = async (line: Line, observe: (event: HttpEvent) => void): Promise<void> => {
  line.running = true
  for (let next = line.waiting.shift(); next; next = line.waiting.shift()) {
    try {
      await next()
    } catch {
      // Nothing in an exchange is meant to throw; if something does, one connection pays for it and not the server.
      observe({ kind: 'http_handler_error', code: 'exchange_threw' })
      line.response?.destroy()
    }
  }
  line.running = false
}

const clientRefusal = (code: string, inBody: boolean): Refusal => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return REFUSALS.headersStalled
  if (code === 'HPE_HEADER_OVERFLOW') return REFUSALS.headersTooLarge
  return inBody ? REFUSALS.broken : REFUSALS.badRequest
}

/** Says why, ends its side, and gives the client a moment to read before the connection goes. */
const sayAndClose = (socket: Duplex, refusal: Refusal): void => {
  socket.on('error', () => undefined)
  const timer = setTimeout(() => socket.destroy(), 1_000)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroy())
  socket.end(rawRefusal(refusal))
  socket.resume()
}

const open = (server: Server, options: ListenOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port: options.port, backlog: 1024 }, () => {
      server.off('error', reject)
      resolve()
    })
  })

const handle = (server: Server, host: string): HttpServer => {
  const { port } = server.address() as AddressInfo
  return {
    host,
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    stop: async (graceMs) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      // A connection whose answer ends now is idle from then on, and would be kept for the client's next request.
      const sweep = setInterval(() => server.closeIdleConnections(), 50)
      const timer = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearInterval(sweep)
      clearTimeout(timer)
    },
  }
}
