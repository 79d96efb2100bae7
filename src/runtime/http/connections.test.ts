import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { HttpEvent } from './index.ts'
import { rawRequest } from './testing/raw-client.ts'
import { echo, get, post, serve, stopAfterEach, until } from './testing/serve.ts'

stopAfterEach()

describe('connections', () => {
  test('a client that leaves in mid-body ends the read, and nothing is sent or thrown', async () => {
    let failure: unknown = null
    let aborted = false
    const events: HttpEvent[] = []
    const server = await serve(
      async (request) => {
        request.signal.addEventListener('abort', () => {
          aborted = true
        })
        failure = await request.arrayBuffer().catch((error: unknown) => error)
        return new Response('x')
      },
      {},
      (event) => events.push(event),
    )
    await rawRequest(server.port, [post('Content-Length: 10\r\n', 'abc')], 60)
    await until(() => failure !== null)
    expect([(failure as Error).message, aborted]).toEqual(['client_gone', true])
    expect(events).toContainEqual({ kind: 'http_disconnect', code: 'client_gone' })
    expect(events.map(({ kind }) => kind)).not.toContain('http_handler_error')
  })

  test('800 mangled requests get 4xx or a closed connection, and the server goes on', async () => {
    const server = await serve(echo, { bodyStallMs: 60, headersMs: 1_000 })
    const chunks = '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n'
    const whole = post('Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n', chunks)
    let seed = 1
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff
      return (seed >> 8) % below
    }
    const mangle = (): Buffer => {
      const bytes = Buffer.from(whole)
      for (let times = 0; times <= random(3); times += 1) bytes[random(bytes.length)] = random(256)
      const at = random(bytes.length)
      return random(4) === 0 ? Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random(9))]) : bytes
    }
    for (let round = 0; round < 8; round += 1) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => rawRequest(server.port, [mangle()], 250)))
      for (const { status } of answers) {
        expect([0, 200, 505].includes(status) || (status >= 400 && status < 500), `${status}`).toBe(true)
      }
    }
    expect((await rawRequest(server.port, [get('/')])).status).toBe(200)
  })

  test('2,000 idle connections do no harm', async () => {
    const server = await serve()
    const idle = Array.from({ length: 2000 }, () => connect({ port: server.port, host: '127.0.0.1' }))
    await Promise.all(
      idle.map(
        (socket) => new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject)),
      ),
    )
    const answer = await rawRequest(server.port, [get('/', 'Connection: close\r\n')], 8000)
    expect(answer.status).toBe(200)
    for (const socket of idle) socket.destroy()
  })

  test('stop lets a running response end and then frees the port', async () => {
    const server = await serve(async () => {
      await sleep(100)
      return new Response('done')
    })
    const answer = fetch(server.url)
    await sleep(30)
    await server.stop(2000)
    expect(await (await answer).text()).toBe('done')
    await expect(fetch(server.url)).rejects.toThrow()
  })
})
