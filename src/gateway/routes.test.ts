import { describe, expect, it } from 'vitest'
import { matchRoute } from './routes.ts'
import { createWorld, errorOf } from './testing/doubles.ts'

const assets = new Set(['/', '/page.css'])

describe('matchRoute', () => {
  it.each([
    ['POST', '/v1/chat/completions', 'chat_completions'],
    ['POST', '/v1/completions', 'completions'],
    ['GET', '/v1/models', 'models'],
    ['GET', '/v1/models/tiny', 'model'],
    ['GET', '/v1/models/%40cf%2Fzai-org%2Fglm-5.3', 'model'],
    ['GET', '/v1/models/@cf/zai-org/glm-5.3', 'model'],
    ['POST', '/tokenize', 'tokenize'],
    ['GET', '/health', 'health'],
    ['HEAD', '/health', 'health'],
    ['GET', '/ready', 'ready'],
    ['GET', '/metrics', 'metrics'],
    ['GET', '/.well-known/security.txt', 'security_txt'],
    ['GET', '/admin/feed', 'admin_feed'],
    ['GET', '/', 'asset'],
    ['GET', '/page.css', 'asset'],
  ])('%s %s is %s', (method, path, kind) => {
    expect(matchRoute(method, path, assets)).toMatchObject({ kind: 'matched', route: { kind } })
  })

  it('reads a model id in both of its spellings', () => {
    for (const path of ['/v1/models/%40cf%2Fzai-org%2Fglm-5.3', '/v1/models/@cf/zai-org/glm-5.3']) {
      expect(matchRoute('GET', path, assets)).toMatchObject({ route: { id: '@cf/zai-org/glm-5.3' } })
    }
  })

  it.each([
    '/v1',
    '/v1/',
    '/v1/models/',
    '/v1/chat/completions/',
    '//v1/models',
    '/V1/models',
    '/v1/chat%2Fcompletions',
    '/v1/%63ompletions',
    '/v1/./models',
    '/v1/models/..',
    '/v1/models/../completions',
    '/v1/models/a/./b',
    '/v1/models/a//b',
    '/v1/models/%74iny',
    '/v1/models/%zz',
    '/v1/models/%00%',
    '/generate',
    '/v1/embeddings',
    '/admin',
    '/server_info',
    '/constructor',
    '/__proto__',
    '/page.js',
    '/health/',
    '/health;x',
    '/v1/models/tiny?',
    `/v1/models/${'a'.repeat(600)}`,
  ])('%s is nothing', (path) => {
    expect(matchRoute('GET', path, assets)).toEqual({ kind: 'not_found' })
    expect(matchRoute('POST', path, assets)).toEqual({ kind: 'not_found' })
  })

  it.each([
    ['GET', '/v1/chat/completions', 'POST'],
    ['DELETE', '/v1/models', 'GET, HEAD'],
    ['POST', '/', 'GET, HEAD'],
    ['OPTIONS', '/v1/completions', 'POST'],
    ['POST', '/v1/models/tiny', 'GET, HEAD'],
  ])('%s %s is the wrong method', (method, path, allow) => {
    expect(matchRoute(method, path, assets)).toEqual({ kind: 'wrong_method', allow })
  })
})

describe('the order of refusals', () => {
  it('an unlisted path is 404 without a key, a wrong method 405 with Allow, then comes the key', async () => {
    const world = createWorld()
    const anonymous = { headers: { authorization: '' } }
    expect(await errorOf(await world.send('/generate', anonymous))).toMatchObject({ status: 404, code: 'not_found' })
    const wrong = await world.send('/v1/completions', anonymous)
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await world.send('/v1/models', anonymous)).status).toBe(401)
  })

  it('a query is ignored, and no CORS header is ever sent', async () => {
    const response = await createWorld().send('/v1/models?x=1', { headers: { origin: 'https://evil.example' } })
    expect(response.status).toBe(200)
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
})
