import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { HttpEvent } from './index.ts'
import { errorCode, rawRequest } from './testing/raw-client.ts'
import { get, post, serve, stopAfterEach, until } from './testing/serve.ts'

stopAfterEach()

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
    const answer = await rawRequest(server.port, [get('/a') + get('/b') + get('/c', 'Connection: close\r\n')], 8000)
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
    const answer = await rawRequest(server.port, [get('/').repeat(50)], 8000)
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
    const server = await serve(
      async () => sse(['data: 1\n\n', 'data: {"error":{}}\n\n'], new Error('kv_integrity')),
      {},
      (event) => events.push(event),
    )
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
    const paused = connect({ port: server.port, host: '127.0.0.1' })
    paused.on('error', () => undefined)
    paused.pause()
    paused.write(get('/'))
    await until(() => cancelled)
    paused.destroy()
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
    await until(() => aborted)
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
