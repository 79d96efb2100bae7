import { describe, expect, it } from 'vitest'
import { createPageHandler } from './index.ts'
import { keyHash, sha256 } from './testing/doubles.ts'

const handler = createPageHandler({
  adminKeys: [keyHash('root')],
  sha256,
  page: [
    { path: '/', contentType: 'text/html; charset=utf-8', body: '<!doctype html>' },
    { path: '/page/main.js', contentType: 'text/javascript; charset=utf-8', body: 'export {}' },
  ],
  feed: {
    subscribe: (push) => {
      push('{"at":1}')
      return () => undefined
    },
  },
})

const send = (path: string, init: RequestInit = {}): Promise<Response> =>
  handler(new Request(`http://127.0.0.1${path}`, init), { remoteAddress: '127.0.0.1' })

describe('createPageHandler', () => {
  it("serves the page's files with the page's policy", async () => {
    const response = await send('/page/main.js')
    expect([response.status, await response.text()]).toEqual([200, 'export {}'])
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  it('feeds whoever has the key', async () => {
    const response = await send('/admin/feed', { headers: { authorization: 'Bearer root' } })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: {"at":1}\n\n')
    await reader.cancel()
    expect((await send('/admin/feed')).status).toBe(401)
  })

  it('has nothing else, models least of all', async () => {
    for (const path of ['/v1/models', '/v1/completions', '/metrics', '/page/other.js', '/page/', '/ready']) {
      expect((await send(path)).status).toBe(404)
    }
    expect((await send('/', { method: 'POST' })).status).toBe(404)
    expect(await (await send('/', { method: 'HEAD' })).text()).toBe('')
  })
})
