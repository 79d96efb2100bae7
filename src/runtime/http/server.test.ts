import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type HttpEvent, type HttpHandler, type HttpServer, type ListenOptions, listen } from './index.ts'
import { errorCode, rawRequest } from './testing/raw-client.ts'

const open: HttpServer[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.stop(0)
})

const echo: HttpHandler = async (request) => {
  const bytes = await request.arrayBuffer()
  return Response.json({ method: request.method, path: new URL(request.url).pathname, bytes: bytes.byteLength })
}

const serve = async (handler: HttpHandler = echo, limits: ListenOptions['limits'] = {}): Promise<HttpServer> => {
  const server = await listen({ host: '127.0.0.1', port: 0, handler, limits: { lingerMs: 400, ...limits } })
  open.push(server)
  return server
}

const get = (target: string, more = ''): string => `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
const post = (more: string, body = ''): string => `POST /v1/x HTTP/1.1\r\nHost: localhost\r\n${more}\r\n${body}`

describe('request line', () => {
  test.each([
    '/v1/%63hat',
    '/v1/../v1/models',
    '/v1/./models',
    '//v1/models',
    '/v1//models',
    '/v1/models/',
    '/v1\\models',
    'http://localhost/v1/models',
    '/v1/models#x',
    '/..',
    '*',
    'v1/models',
  ])('%s is 404 and never reaches the handler', async (target) => {
    let called = false
    const server = await serve(async () => {
      called = true
      return new Response('x')
    })
    const answer = await rawRequest(server.port, [get(target)], 150)
    expect([400, 404]).toContain(answer.status)
    if (target !== 'v1/models') expect(errorCode(answer)).toBe('not_found')
    expect(called).toBe(false)
  })

  test('listed shapes of paths pass as they are, query and all', async () => {
    const server = await serve(async (request) => new Response(request.url))
    for (const path of ['/', '/v1/models?a=%20b', '/ai/run/@cf/zai-org/glm-5.3', '/.well-known/security.txt']) {
      const answer = await rawRequest(server.port, [get(path, 'Connection: close\r\n')])
      expect(answer.status).toBe(200)
      expect(answer.text).toContain(`http://localhost${path}`)
    }
  })
})

describe('Host', () => {
  test.each([
    ['', 400],
    ['Host: localhost\r\nHost: localhost\r\n', 400],
    ['Host: localhost\r\nHost: evil.example\r\n', 400],
    ['Host: a b\r\n', 400],
    ['Host: user@localhost\r\n', 400],
    ['Host: localhost:99999\r\n', 400],
    ['Host: evil.example\r\n', 421],
    ['Host: localhost.evil.example:80\r\n', 421],
    ['Host: 127.0.0.1:9999\r\n', 200],
    ['Host: [::1]:80\r\n', 200],
    ['Host: LOCALHOST\r\n', 200],
  ])('%j is %i', async (header, status) => {
    const server = await serve()
    const answer = await rawRequest(server.port, [`GET / HTTP/1.1\r\n${header}Connection: close\r\n\r\n`])
    expect(answer.status).toBe(status)
    if (status !== 200) expect(errorCode(answer)).toMatch(/invalid_host|misdirected_request/)
  })
})

describe('framing', () => {
  test.each([
    ['length and chunked', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
    ['chunked and length', 'Transfer-Encoding: chunked\r\nContent-Length: 3\r\n', '0\r\n\r\n'],
    ['two lengths', 'Content-Length: 3\r\nContent-Length: 4\r\n', 'abcd'],
    ['the same length twice', 'Content-Length: 3\r\nContent-Length: 3\r\n', 'abc'],
    ['a list of lengths', 'Content-Length: 3, 3\r\n', 'abc'],
    ['a signed length', 'Content-Length: +3\r\n', 'abc'],
    ['another coding', 'Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'],
    ['a coding twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n', '0\r\n\r\n'],
    ['a chunk size that is no number', 'Transfer-Encoding: chunked\r\n', 'zz\r\nabc\r\n0\r\n\r\n'],
    ['a chunk longer than said', 'Transfer-Encoding: chunked\r\n', '2\r\nabcdef\r\n0\r\n\r\n'],
    ['a chunk size of 2^70', 'Transfer-Encoding: chunked\r\n', 'fffffffffffffffff\r\nabc'],
    ['a folded header', 'X-A: b\r\n c\r\nTransfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'],
    ['a bare CR in a header', 'X-A: b\rc\r\n', ''],
    ['a null in a header', 'X-A: b\0c\r\n', ''],
  ])('%s is 400 in JSON and the connection ends', async (_name, headers, body) => {
    const server = await serve()
    const answer = await rawRequest(server.port, [post(headers, body)], 1500)
    expect(answer.status).toBe(400)
    expect(errorCode(answer)).not.toBeNull()
    expect(answer.text.match(/HTTP\/1\.1 \d/g)).toHaveLength(1)
    expect(answer.ending).not.toBe('open')
    expect((await rawRequest(server.port, [get('/')])).status).toBe(200)
  })

  test('nonsense, a TLS hello and an unknown method get 400', async () => {
    const server = await serve()
    for (const bytes of [
      'hello\r\n\r\n',
      Buffer.from('16030100a5010000a1', 'hex'),
      'FOO / HTTP/1.1\r\nHost: x\r\n\r\n',
    ]) {
      expect((await rawRequest(server.port, [bytes], 1500)).status).toBe(400)
    }
  })

  test('CONNECT, TRACE and HTTP/2.0 are refused', async () => {
    const server = await serve()
    expect((await rawRequest(server.port, ['CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'], 1500)).status).toBe(405)
    expect((await rawRequest(server.port, ['TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n'])).status).toBe(405)
    const two = await rawRequest(server.port, ['GET / HTTP/2.0\r\nHost: localhost\r\n\r\n'], 1500)
    expect([400, 505]).toContain(two.status)
  })

  test('headers above the bound are 431', async () => {
    const server = await serve()
    const answer = await rawRequest(server.port, [get('/', `X-A: ${'a'.repeat(20_000)}\r\n`)], 1500)
    expect([answer.status, errorCode(answer)]).toEqual([431, 'headers_too_large'])
  })

  test.each(['br', 'gzip', 'identity, gzip', 'x'])('Content-Encoding %s is 415', async (coding) => {
    const server = await serve()
    const answer = await rawRequest(server.port, [post(`Content-Encoding: ${coding}\r\nContent-Length: 3\r\n`, 'abc')])
    expect([answer.status, errorCode(answer)]).toEqual([415, 'unsupported_content_encoding'])
  })

  test('Content-Encoding identity passes', async () => {
    const server = await serve()
    const answer = await rawRequest(server.port, [post('Content-Encoding: identity\r\nContent-Length: 3\r\n', 'abc')])
    expect(answer.status).toBe(200)
  })
})

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
    const answer = await rawRequest(server.port, [post('Content-Length: 1001\r\n')], 1500)
    expect([answer.status, errorCode(answer), called]).toEqual([413, 'request_too_large', false])
  })

  test('a chunked body over the limit is 413', async () => {
    const server = await serve(echo, { bodyBytes: 1000 })
    const chunk = `3e8\r\n${'a'.repeat(1000)}\r\n`
    const answer = await rawRequest(server.port, [post('Transfer-Encoding: chunked\r\n'), chunk, chunk], 1500)
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
    const answer = await rawRequest(server.port, [post('Transfer-Encoding: chunked\r\n')], 3000, (socket) => {
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
      const answer = await rawRequest(server.port, [post(head, head.startsWith('C') ? 'abc' : '3\r\nabc\r\n')], 1500)
      expect([answer.status, errorCode(answer)]).toEqual([408, 'request_timeout'])
    }
  })

  test('a body that drips is 408 when its whole time is up', async () => {
    const server = await serve(echo, { bodyStallMs: 200, bodyTotalMs: 300 })
    const answer = await rawRequest(server.port, [post('Content-Length: 1000\r\n')], 2000, (socket) => {
      const timer = setInterval(() => socket.write('a'), 30)
      socket.once('close', () => clearInterval(timer))
    })
    expect(answer.status).toBe(408)
  })

  test('headers that stall are 408', async () => {
    const server = await serve(echo, { headersMs: 150 })
    const answer = await rawRequest(server.port, ['POST / HTTP/1.1\r\nHost: loc'], 1500)
    expect([answer.status, errorCode(answer)]).toEqual([408, 'request_timeout'])
  })

  test('bodies in flight are bounded together', async () => {
    const server = await serve(echo, { bodyBytesInFlight: 1500 })
    const slow = rawRequest(server.port, [post('Content-Length: 1001\r\n', 'a'.repeat(1000))], 300)
    await sleep(50)
    const second = await rawRequest(server.port, [post('Content-Length: 1000\r\n', 'a'.repeat(1000))], 300)
    expect([second.status, errorCode(second)]).toEqual([503, 'overloaded'])
    expect(second.text).toMatch(/retry-after: 1/i)
    await slow
    const third = await rawRequest(server.port, [post('Content-Length: 1000\r\n', 'a'.repeat(1000))], 300)
    expect(third.status).toBe(200)
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

describe('responses', () => {
  test('HEAD has the headers and no body', async () => {
    const server = await serve()
    const answer = await rawRequest(server.port, ['HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'])
    expect(answer.status).toBe(200)
    expect(answer.text.endsWith('\r\n\r\n')).toBe(true)
  })

  test('pipelined requests are answered in order, one at a time', async () => {
    let running = 0
    let most = 0
    const server = await serve(async (request) => {
      running += 1
      most = Math.max(most, running)
      await sleep(20)
      running -= 1
      return new Response(new URL(request.url).pathname)
    })
    const answer = await rawRequest(server.port, [get('/a') + get('/b') + get('/c', 'Connection: close\r\n')], 1500)
    expect(answer.text.match(/\/[abc]$|\/[abc](?=HTTP)/g)).toEqual(['/a', '/b', '/c'])
    expect(most).toBe(1)
  })

  test('more pipelined requests than allowed lose the connection, not the server', async () => {
    const server = await serve(
      async () => {
        await sleep(100)
        return new Response('x')
      },
      { pipelined: 4 },
    )
    const answer = await rawRequest(server.port, [get('/').repeat(50)], 1500)
    expect(answer.ending).not.toBe('open')
    expect((await rawRequest(server.port, [get('/')])).status).toBe(200)
  })

  test('a handler that throws is 500 without its words, and the server goes on', async () => {
    const server = await serve(async () => {
      throw new Error('private words')
    })
    const answer = await rawRequest(server.port, [get('/')])
    expect([answer.status, errorCode(answer)]).toEqual([500, 'internal'])
    expect(answer.text).not.toContain('private')
  })

  test('a stream that ends is chunked and terminated', async () => {
    const server = await serve(async () => sse(['data: 1\n\n', 'data: 2\n\n'], null))
    const answer = await rawRequest(server.port, [get('/')])
    expect(answer.text.endsWith('9\r\ndata: 2\n\n\r\n0\r\n\r\n')).toBe(true)
    expect(answer.ending).toBe('open')
  })

  test('a stream that fails shows its last frame, is cut, and has no end', async () => {
    const events: HttpEvent[] = []
    const server = await listen({
      host: '127.0.0.1',
      port: 0,
      handler: async () => sse(['data: 1\n\n', 'data: {"error":{}}\n\n'], new Error('kv_integrity')),
      observe: (event) => events.push(event),
    })
    open.push(server)
    const answer = await rawRequest(server.port, [get('/')])
    expect(answer.text).toContain('data: {"error":{}}\n\n')
    expect(answer.text).not.toContain('\r\n0\r\n')
    expect(answer.ending).not.toBe('open')
    expect(events).toEqual([{ kind: 'http_reset', code: 'stream_failed' }])
    await expect(fetch(server.url).then((response) => response.text())).rejects.toThrow()
  })

  test('to an HTTP/1.0 client, for whom an end would look whole, a failed stream is a reset', async () => {
    const server = await serve(async () => sse(['data: 1\n\n'], new Error('x')))
    const answer = await rawRequest(server.port, ['GET / HTTP/1.0\r\nHost: localhost\r\n\r\n'])
    expect(answer.ending).toBe('reset')
  })

  test('a body shorter than its declared length is cut', async () => {
    const server = await serve(async () => new Response('abc', { headers: { 'content-length': '5' } }))
    const answer = await rawRequest(server.port, [get('/')])
    expect(answer.ending).not.toBe('open')
  })

  test('a large body streams under back-pressure', async () => {
    let made = 0
    const server = await serve(async () => {
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          made += 1
          if (made > 400) controller.close()
          else controller.enqueue(new Uint8Array(2 ** 17))
        },
      })
      return new Response(body)
    })
    const response = await fetch(server.url)
    await sleep(100)
    expect(made).toBeLessThan(200)
    expect((await response.arrayBuffer()).byteLength).toBe(400 * 2 ** 17)
  })

  test('a client that does not read is cut off', async () => {
    let cancelled = false
    const server = await serve(
      async () =>
        new Response(
          new ReadableStream({
            pull: (controller) => controller.enqueue(new Uint8Array(2 ** 18)),
            cancel: () => {
              cancelled = true
            },
          }),
        ),
      { writeStallMs: 200 },
    )
    await rawRequest(server.port, [get('/')], 1500, (socket) => socket.pause())
    expect(cancelled).toBe(true)
  })

  test('a client that leaves aborts the request at once and cancels the stream', async () => {
    let left = 0
    let cancelled = 0
    let begun: () => void = () => undefined
    const started = new Promise<void>((resolve) => {
      begun = resolve
    })
    const server = await serve(async (request) => {
      await request.arrayBuffer()
      request.signal.addEventListener('abort', () => {
        left = performance.now()
      })
      begun()
      return new Response(
        new ReadableStream({
          cancel: () => {
            cancelled = performance.now()
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      )
    })
    const leave = new AbortController()
    const reading = fetch(`${server.url}/v1/x`, { method: 'POST', body: '{}', signal: leave.signal })
    await started
    await reading
    const at = performance.now()
    leave.abort()
    for (let tries = 0; cancelled === 0 && tries < 200; tries += 1) await sleep(5)
    expect(left - at).toBeGreaterThan(0)
    expect(left - at).toBeLessThan(500)
    expect(cancelled - at).toBeGreaterThan(0)
  })

  test('a client that leaves before the response begins aborts the request', async () => {
    let aborted = false
    const server = await serve(async (request) => {
      await request.arrayBuffer()
      await new Promise<void>((resolve) => request.signal.addEventListener('abort', () => resolve()))
      aborted = true
      return new Response('late')
    })
    await rawRequest(server.port, [post('Content-Length: 2\r\n', '{}')], 60)
    await sleep(40)
    expect(aborted).toBe(true)
  })
})

describe('connections', () => {
  test('a client that leaves in mid-body ends the read, and nothing is sent or thrown', async () => {
    let failure: unknown = null
    let aborted = false
    const events: HttpEvent[] = []
    const server = await listen({
      host: '127.0.0.1',
      port: 0,
      handler: async (request) => {
        request.signal.addEventListener('abort', () => {
          aborted = true
        })
        failure = await request.arrayBuffer().catch((error: unknown) => error)
        return new Response('x')
      },
      observe: (event) => events.push(event),
    })
    open.push(server)
    await rawRequest(server.port, [post('Content-Length: 10\r\n', 'abc')], 60)
    await sleep(40)
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
    const { connect } = await import('node:net')
    const idle = Array.from({ length: 2000 }, () => connect({ port: server.port, host: '127.0.0.1' }))
    await Promise.all(
      idle.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('error', resolve))),
    )
    const answer = await rawRequest(server.port, [get('/', 'Connection: close\r\n')], 2000)
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

/** One frame a pull, so that a failure comes after the last frame has been taken. */
const sse = (frames: readonly string[], failure: Error | null): Response => {
  let at = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const frame = frames[at++]
        if (frame !== undefined) controller.enqueue(new TextEncoder().encode(frame))
        else if (failure) controller.error(failure)
        else controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
