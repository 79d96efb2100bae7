import { afterEach } from 'vitest'
import { type HttpHandler, type HttpServer, type ListenOptions, listen } from '../index.ts'

const open: HttpServer[] = []

/** Stops what `serve` started, after each test of the file that calls this. */
export const stopAfterEach = (): void => {
  afterEach(async () => {
    for (const server of open.splice(0)) await server.stop(0)
  })
}

export const echo: HttpHandler = async (request) => {
  const bytes = await request.arrayBuffer()
  return Response.json({ method: request.method, path: new URL(request.url).pathname, bytes: bytes.byteLength })
}

export const serve = async (
  handler: HttpHandler = echo,
  limits: ListenOptions['limits'] = {},
  observe: ListenOptions['observe'] = () => undefined,
): Promise<HttpServer> => {
  const server = await listen({ host: '127.0.0.1', port: 0, handler, limits: { lingerMs: 400, ...limits }, observe })
  open.push(server)
  return server
}

/** Waits for what another part of the test brings about. */
export const until = async (condition: () => boolean): Promise<void> => {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 1_000) throw new Error('waited in vain')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export const get = (target: string, more = ''): string => `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
export const post = (more: string, body = ''): string => `POST /v1/x HTTP/1.1\r\nHost: localhost\r\n${more}\r\n${body}`
