import { describe, expect, test } from 'vitest'
import { errorCode, rawRequest } from './testing/raw-client.ts'
import { get, post, serve, stopAfterEach } from './testing/serve.ts'

stopAfterEach()

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
    const answer = await rawRequest(server.port, [get(target)])
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

test('a refused request without a body leaves its connection open for the next', async () => {
  const server = await serve()
  const answer = await rawRequest(server.port, [get('/v1/%63hat') + get('/v1/models', 'Connection: close\r\n')])
  expect(answer.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
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
    const answer = await rawRequest(server.port, [post(headers, body)], 8000)
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
      expect((await rawRequest(server.port, [bytes], 8000)).status).toBe(400)
    }
  })

  test('CONNECT, TRACE and HTTP/2.0 are refused', async () => {
    const server = await serve()
    expect((await rawRequest(server.port, ['CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'], 8000)).status).toBe(405)
    expect((await rawRequest(server.port, ['TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n'])).status).toBe(405)
    const two = await rawRequest(server.port, ['GET / HTTP/2.0\r\nHost: localhost\r\n\r\n'], 8000)
    expect([400, 505]).toContain(two.status)
  })

  test('headers above the bound are 431', async () => {
    const server = await serve()
    const answer = await rawRequest(server.port, [get('/', `X-A: ${'a'.repeat(20_000)}\r\n`)], 8000)
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

describe('refusals and broken framing together', () => {
  const brokenChunk = 'zz\r\nabc\r\n0\r\n\r\n'
  test.each([
    ['an unlisted path', 'POST /v1/../x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n', 404],
    ['a foreign host', 'POST /v1/x HTTP/1.1\r\nHost: evil\r\nTransfer-Encoding: chunked\r\n\r\n', 421],
    ['a coding', post('Content-Encoding: br\r\nTransfer-Encoding: chunked\r\n'), 415],
  ])(
    '%s and a chunk that is none, in one packet: the refusal is sent, and the connection ends',
    async (_, head, status) => {
      const server = await serve()
      const answer = await rawRequest(server.port, [head + brokenChunk], 300)
      expect([answer.status, answer.ending]).toEqual([status, 'end'])
      expect(errorCode(answer)).not.toBeNull()
    },
  )

  test.each(['xchunked', 'gzip, chunked', 'identity'])('Transfer-Encoding: %s is answered', async (coding) => {
    const server = await serve()
    const answer = await rawRequest(server.port, [post(`Transfer-Encoding: ${coding}\r\n`, brokenChunk)], 300)
    expect([answer.status, answer.ending]).toEqual([400, 'end'])
  })
})
