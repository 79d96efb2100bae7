import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { errorCode, rawRequest } from './testing/raw-client.ts'
import { echo, get, post, serve, stopAfterEach } from './testing/serve.ts'

stopAfterEach()

describe('body', () => {
  test('a length over the limit is 413 before the handler runs', async () => {
    let called = false
    const server = await serve(
      async () => {
        called = true
        return new Response('x')
      },
      { bodyBytes: 1000 },
    )
    const answer = await rawRequest(server.port, [post('Content-Length: 1001\r\n')], 8000)
    expect([answer.status, errorCode(answer), called]).toEqual([413, 'request_too_large', false])
  })

  test('a chunked body over the limit is 413', async () => {
    const server = await serve(echo, { bodyBytes: 1000 })
    const chunk = `3e8\r\n${'a'.repeat(1000)}\r\n`
    const answer = await rawRequest(server.port, [post('Transfer-Encoding: chunked\r\n'), chunk, chunk], 8000)
    expect([answer.status, errorCode(answer)]).toEqual([413, 'request_too_large'])
  })

  test.each(['length', 'chunked'])('a client that writes 8 MB more reads its 413 (%s)', async (framing) => {
    const server = await serve(echo, { bodyBytes: 1000, lingerMs: 3000 })
    const block = Buffer.alloc(2 ** 20, 97)
    const framed =
      framing === 'chunked' ? Buffer.concat([Buffer.from('100000\r\n'), block, Buffer.from('\r\n')]) : block
    const head = framing === 'chunked' ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${8 * 2 ** 20}\r\n`
    const parts = [post(head), ...Array.from({ length: 8 }, () => framed), framing === 'chunked' ? '0\r\n\r\n' : '']
    const answer = await rawRequest(server.port, parts, 3000)
    expect([answer.status, answer.ending]).toEqual([413, 'end'])
  })

  test('an answer given without reading the body reaches a client that still writes', async () => {
    const server = await serve(async () => Response.json({ error: { code: 'invalid_api_key' } }, { status: 401 }), {
      lingerMs: 3000,
    })
    const answer = await rawRequest(
      server.port,
      [post(`Content-Length: ${2 ** 22}\r\n`), Buffer.alloc(2 ** 22, 97)],
      3000,
    )
    expect([answer.status, errorCode(answer), answer.ending]).toEqual([401, 'invalid_api_key', 'end'])
  })

  test('a client that never stops writing is cut off', async () => {
    const server = await serve(echo, { bodyBytes: 1000, lingerMs: 200 })
    const started = performance.now()
    const answer = await rawRequest(server.port, [post('Transfer-Encoding: chunked\r\n')], 8000, (socket) => {
      const timer = setInterval(() => socket.write(`3e8\r\n${'a'.repeat(1000)}\r\n`), 5)
      socket.once('close', () => clearInterval(timer))
    })
    expect(answer.status).toBe(413)
    expect(answer.ending).not.toBe('open')
    expect(performance.now() - started).toBeLessThan(2000)
  })

  test('a body that stalls is 408, with either framing', async () => {
    const server = await serve(echo, { bodyStallMs: 80 })
    for (const head of ['Content-Length: 10\r\n', 'Transfer-Encoding: chunked\r\n']) {
      const answer = await rawRequest(server.port, [post(head, head.startsWith('C') ? 'abc' : '3\r\nabc\r\n')], 8000)
      expect([answer.status, errorCode(answer)]).toEqual([408, 'request_timeout'])
    }
  })

  test('a body that drips is 408 when its whole time is up', async () => {
    const server = await serve(echo, { bodyStallMs: 200, bodyTotalMs: 300 })
    const answer = await rawRequest(server.port, [post('Content-Length: 1000\r\n')], 8000, (socket) => {
      const timer = setInterval(() => socket.write('a'), 30)
      socket.once('close', () => clearInterval(timer))
    })
    expect(answer.status).toBe(408)
  })

  test('headers that stall are 408', async () => {
    const server = await serve(echo, { headersMs: 150 })
    const answer = await rawRequest(server.port, ['POST / HTTP/1.1\r\nHost: loc'], 8000)
    expect([answer.status, errorCode(answer)]).toEqual([408, 'request_timeout'])
  })

  test('bodies in flight are bounded together', async () => {
    const server = await serve(echo, { bodyBytesInFlight: 1500 })
    const slow = rawRequest(server.port, [post('Content-Length: 1001\r\n', 'a'.repeat(1000))], 1_000)
    await sleep(100)
    const second = await rawRequest(server.port, [post('Content-Length: 1000\r\n', 'a'.repeat(1000))])
    expect([second.status, errorCode(second)]).toEqual([503, 'overloaded'])
    expect(second.text).toMatch(/retry-after: 1/i)
    await slow
    const third = await rawRequest(server.port, [post('Content-Length: 1000\r\n', 'a'.repeat(1000))])
    expect(third.status).toBe(200)
  })

  test('a body that its handler holds no more makes way for others, however long the answer takes', async () => {
    const server = await serve(
      async (request, { releaseBody }) => {
        const { byteLength } = await request.arrayBuffer()
        releaseBody()
        await sleep(byteLength === 1000 ? 300 : 0)
        return Response.json({ byteLength })
      },
      { bodyBytesInFlight: 1500 },
    )
    const slow = rawRequest(server.port, [post('Content-Length: 1000\r\n', 'a'.repeat(1000))])
    await sleep(100)
    const second = await rawRequest(server.port, [post('Content-Length: 1200\r\n', 'a'.repeat(1200))])
    expect([second.status, (await slow).status]).toEqual([200, 200])
    // Given back once, and not a second time when the answer was sent.
    const third = rawRequest(server.port, [post('Content-Length: 1501\r\n', 'a'.repeat(1501))])
    expect((await third).status).toBe(503)
  })

  test('100-continue is said when the handler reads, and not before a refusal', async () => {
    const server = await serve(echo, { bodyBytes: 1000 })
    const small = await rawRequest(server.port, [post('Expect: 100-continue\r\nContent-Length: 3\r\n'), 'abc'])
    expect(small.text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200/)
    const big = await rawRequest(server.port, [post('Expect: 100-continue\r\nContent-Length: 3000\r\n')])
    expect(big.text).toMatch(/^HTTP\/1\.1 413/)
    const odd = await rawRequest(server.port, [post('Expect: tea\r\nContent-Length: 3\r\n'), 'abc'])
    expect(odd.status).toBe(417)
  })

  test('a GET with a body is answered and its body dropped', async () => {
    const server = await serve()
    const answer = await rawRequest(server.port, [get('/v1/models', 'Content-Length: 3\r\n'), 'abc'])
    expect(answer.status).toBe(200)
  })
})
