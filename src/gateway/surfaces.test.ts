import { describe, expect, it } from 'vitest'
import { adminKey, answering, byteModel, createWorld, errorOf } from './testing/doubles.ts'

const clamped = { advertisedWindow: 2048, prefillPool: 1024, decodePool: 2048, pageSize: 16 }

describe('headers', () => {
  const world = createWorld()
  world.engine.onSubmit = answering('ok')

  it('every answer has an id of its own, made here', async () => {
    const ids = new Set<string | null>()
    for (const path of ['/health', '/nothing', '/v1/models', '/v1/completions']) {
      ids.add((await world.send(path, { headers: { 'x-request-id': 'mine' } })).headers.get('x-request-id'))
    }
    expect(ids.size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/)
  })

  it.each([
    ['abc-123', 'abc-123'],
    ['x'.repeat(128), 'x'.repeat(128)],
    ['x'.repeat(129), null],
    ['a b', null],
    ['caf\u00e9', null],
  ])("a client's id is echoed if it is short and printable: %s", async (sent, echoed) => {
    const response = await world.send('/health', { headers: { 'x-request-id': sent } })
    expect(response.headers.get('x-client-request-id')).toBe(echoed)
  })

  it("a client's id under OpenAI's name for it is echoed rather than one that a proxy made", async () => {
    const headers = { 'x-client-request-id': 'mine', 'x-request-id': 'of-a-proxy' }
    const response = await world.send('/health', { headers })
    expect(response.headers.get('x-client-request-id')).toBe('mine')
    expect(response.headers.get('x-request-id')).toMatch(/^req_/)
  })

  it('a receipt says what was compared', async () => {
    const receipt = async (gateway: typeof world): Promise<string | null> =>
      (await gateway.post('/v1/completions', { model: 'tiny', prompt: 'abc' })).headers.get('x-bulkhead-receipt')
    expect(await receipt(world)).toBe('prompt_tokens=3; ticket=ok; contract=ok; tags=ok; seals=ok')
    const unsealed = createWorld({ models: [{ ...byteModel(), integrity: 'tags' }] })
    unsealed.engine.onSubmit = answering('ok')
    expect(await receipt(unsealed)).toBe('prompt_tokens=3; ticket=ok; contract=ok; tags=ok; seals=off')
  })

  it('an error carries no receipt', async () => {
    expect((await world.post('/v1/completions', { model: 'tiny' })).headers.get('x-bulkhead-receipt')).toBeNull()
  })
})

describe('models', () => {
  const world = createWorld({ models: [byteModel('tiny', clamped), byteModel('@cf/x/y')] })

  it('lists both windows of each', async () => {
    expect(await (await world.send('/v1/models')).json()).toEqual({
      object: 'list',
      data: [
        {
          id: 'tiny',
          object: 'model',
          created: 1_700_000_000,
          owned_by: 'bulkhead',
          max_model_len: 1024,
          advertised_context_window: 2048,
        },
        {
          id: '@cf/x/y',
          object: 'model',
          created: 1_700_000_000,
          owned_by: 'bulkhead',
          max_model_len: 1024,
          advertised_context_window: 2048,
        },
      ],
    })
  })

  it('shows one by its id, plain or encoded', async () => {
    for (const path of ['/v1/models/@cf/x/y', '/v1/models/%40cf%2Fx%2Fy']) {
      expect(await (await world.send(path)).json()).toMatchObject({ id: '@cf/x/y' })
    }
    expect(await errorOf(await world.send('/v1/models/none'))).toMatchObject({ status: 404, code: 'model_not_found' })
  })

  it('HEAD has the headers and no body', async () => {
    const response = await world.send('/v1/models', { method: 'HEAD' })
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'application/json',
      '',
    ])
  })
})

describe('tokenize', () => {
  const world = createWorld()
  it('counts a prompt and a conversation as they are counted for generation', async () => {
    expect(await (await world.post('/tokenize', { model: 'tiny', prompt: 'ab' })).json()).toEqual({
      count: 2,
      max_model_len: 1024,
      tokens: [97, 98],
    })
    const messages = [{ role: 'user', content: 'a' }]
    expect(await (await world.post('/tokenize', { model: 'tiny', messages })).json()).toMatchObject({ count: 7 })
  })

  it('shows by how much a prompt is too long, within reason', async () => {
    expect(await (await world.post('/tokenize', { model: 'tiny', prompt: 'x'.repeat(2000) })).json()).toMatchObject({
      count: 2000,
    })
    expect(await errorOf(await world.post('/tokenize', { model: 'tiny', prompt: 'x'.repeat(9000) }))).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      details: { n_prompt_tokens_is: 'at_least' },
    })
  })
})

describe('the page', () => {
  it('is public, holds no data and may load nothing from elsewhere', async () => {
    const response = await createWorld().send('/', { headers: { authorization: '' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(response.headers.get('content-security-policy')).not.toContain('unsafe')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it("its feed needs the admin key in a header; a tenant's key is not one", async () => {
    const world = createWorld()
    for (const authorization of ['', 'Bearer key-a', 'Bearer wrong']) {
      expect((await world.send('/admin/feed', { headers: { authorization } })).status).toBe(401)
    }
    expect((await world.send(`/admin/feed?key=${adminKey}`, { headers: { authorization: '' } })).status).toBe(401)
  })

  it('a slow reader gets the newest state only, and leaving ends the subscription', async () => {
    let push: ((json: string) => void) | null = null
    const feed = {
      subscribe: (next: (json: string) => void): (() => void) => {
        push = next
        next('{"n":0}')
        return () => {
          push = null
        }
      },
    }
    const world = createWorld({ feed })
    const send = (n: number): void => push?.(`{"n":${n}}`)
    const response = await world.send('/admin/feed', { headers: { authorization: `Bearer ${adminKey}` } })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const read = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value)
    send(1)
    send(2)
    expect(await read()).toBe('data: {"n":2}\n\n')
    send(3)
    expect(await read()).toBe('data: {"n":3}\n\n')
    await reader.cancel()
    expect(push).toBeNull()
  })
})

describe('telemetry', () => {
  it('no event holds prompt or answer text, or a key', async () => {
    const world = createWorld()
    world.engine.onSubmit = answering('ANSWER-TEXT')
    await world.post('/v1/chat/completions', {
      model: 'tiny',
      messages: [{ role: 'user', content: 'PROMPT-TEXT' }],
      user: 'USER-TEXT',
    })
    await world.post('/v1/completions', { model: 'PROMPT-TEXT', prompt: 'PROMPT-TEXT' })
    await world.send('/PROMPT-TEXT?PROMPT-TEXT')
    await world.send('/health', { method: 'POST' })
    await world.send('/health', { method: 'PROMPT-TEXT' })
    expect(world.events.length).toBeGreaterThan(5)
    expect(JSON.stringify(world.events)).not.toMatch(/TEXT|key-a/)
  })

  it("tells a request's whole story", async () => {
    const world = createWorld()
    world.engine.onSubmit = (submission) => {
      world.now += 250
      submission.say('a')
      world.now += 50
      submission.say('b')
      submission.emit({ kind: 'sequence_finished', sequence: 0, reason: 'length' })
      submission.emit({ kind: 'done' })
    }
    await world.post('/v1/completions', { model: 'tiny', prompt: 'xyz', max_tokens: 2 })
    expect(world.events).toEqual([
      { kind: 'request_admitted', model: 'tiny', promptTokens: 3, pages: 1 },
      { kind: 'first_token', model: 'tiny', seconds: 0.25 },
      { kind: 'token_gap', model: 'tiny', seconds: 0.05 },
      { kind: 'request_finished', model: 'tiny', reason: 'length', outputTokens: 2 },
      {
        kind: 'http_request',
        requestId: expect.any(String),
        tenant: 'a',
        method: 'POST',
        route: 'completions',
        status: 200,
        seconds: 0.3,
      },
    ])
  })
})
