import { describe, expect, it } from 'vitest'
import { bearerToken, createKeyRing, equalDigests } from './tenants/keys.ts'
import { adminKey, createWorld, errorOf, keyHash, sha256 } from './testing/doubles.ts'

const tenants = [
  { id: 'a', keys: [keyHash('one'), keyHash('two')], limits: null },
  { id: 'b', keys: [keyHash('three')], limits: null },
]

describe('keys', () => {
  it('finds the tenant of each of its keys and of nothing else', () => {
    const ring = createKeyRing(tenants, [keyHash('root')], sha256)
    expect(['one', 'two', 'three', 'four', '', 'root'].map((key) => ring.tenant(key)?.id ?? null)).toEqual([
      'a',
      'a',
      'b',
      null,
      null,
      null,
    ])
    expect(['root', 'one'].map((key) => ring.isAdmin(key))).toEqual([true, false])
  })

  it('compares digests only, all of them, whichever matches', () => {
    const seen: string[] = []
    const counted = tenants.map((tenant) => ({
      ...tenant,
      keys: tenant.keys.map(
        (key) =>
          new Proxy(key, {
            get: (target, name) => {
              if (name === 'length') seen.push(tenant.id)
              const value: unknown = Reflect.get(target, name, target)
              return value
            },
          }),
      ),
    }))
    const ring = createKeyRing(counted, [], sha256)
    const looks = (key: string): number => {
      seen.length = 0
      ring.tenant(key)
      return seen.length
    }
    expect(looks('one')).toBe(looks('three'))
    expect(looks('one')).toBe(looks('nobody'))
    expect(looks('one')).toBeGreaterThanOrEqual(3)
  })

  it('tells equal digests from others of any length', () => {
    const digest = keyHash('x')
    expect(equalDigests(digest, keyHash('x'))).toBe(true)
    expect(equalDigests(digest, keyHash('y'))).toBe(false)
    expect(equalDigests(digest, digest.subarray(0, 31))).toBe(false)
    expect(equalDigests(digest, Uint8Array.from([...digest.subarray(0, 31), (digest[31] ?? 0) ^ 1]))).toBe(false)
  })

  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['Bearer  abc', 'abc'],
    ['Basic abc', null],
    ['Bearer', null],
    ['Bearer a b', null],
    [`Bearer ${'x'.repeat(513)}`, null],
    ['abc', null],
  ])('%s', (header, token) => {
    expect(bearerToken(new Headers({ authorization: header }))).toBe(token)
  })
})

describe('a request without the right key', () => {
  const world = createWorld()
  it.each(['/v1/chat/completions', '/v1/completions', '/tokenize'])(
    '%s is 401 before its body is read',
    async (path) => {
      for (const authorization of ['', 'Bearer wrong', `Bearer ${adminKey}`, 'Basic a2V5LWE=']) {
        let pulled = 0
        const body = new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 })
        const init = { method: 'POST', body, duplex: 'half', headers: { authorization } } as RequestInit
        const response = await world.send(path, init)
        expect(await errorOf(response)).toMatchObject({
          status: 401,
          code: 'invalid_api_key',
          type: 'invalid_request_error',
        })
        expect(response.headers.get('www-authenticate')).toBe('Bearer')
        expect(pulled).toBe(0)
      }
    },
  )

  it('no other header and no query carries a key', async () => {
    const headers = { authorization: '', 'x-api-key': 'key-a', 'api-key': 'key-a' }
    expect((await world.send('/v1/models?api_key=key-a', { headers })).status).toBe(401)
  })

  it('keys appear in no answer and no event', async () => {
    const response = await world.send('/v1/models', { headers: { authorization: 'Bearer wrong-secret' } })
    expect(await response.text()).not.toContain('wrong-secret')
    expect(JSON.stringify(world.events)).not.toMatch(/wrong|key-a|admin-key/)
  })
})
