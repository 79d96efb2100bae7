import { describe, expect, it } from 'vitest'
import { answering, byteModel, createWorld, errorOf, type World } from './testing/doubles.ts'

// Window 2,048, prefill pool 1,024, decode pool 2,048: the longest prompt with one token of output is 1,023 tokens.
const world = createWorld()
world.engine.onSubmit = answering('k')

interface Surface {
  readonly path: string
  readonly param: string
  /** A body whose prompt counts exactly `tokens`. */
  body(tokens: number, extra?: object): object
}

const surfaces: readonly Surface[] = [
  {
    path: '/v1/completions',
    param: 'prompt',
    body: (tokens, extra) => ({ model: 'tiny', prompt: 'x'.repeat(tokens), ...extra }),
  },
  {
    path: '/v1/chat/completions',
    param: 'messages',
    // `user:` and the newline are 6 tokens of the template.
    body: (tokens, extra) => ({
      model: 'tiny',
      messages: [{ role: 'user', content: 'x'.repeat(tokens - 6) }],
      ...extra,
    }),
  },
]

const cases = surfaces.flatMap((surface) =>
  [false, true].map((stream) => ({ ...surface, stream, name: `${surface.path}, stream ${stream}` })),
)

describe.each(cases)('R2 at the edge: $name', ({ path, param, body, stream }) => {
  const ask = (tokens: number, extra: object = {}): Promise<Response> =>
    world.post(path, body(tokens, { stream, ...extra }))

  it('the longest prompt is served, one token more is refused before the engine hears of it', async () => {
    expect((await ask(1023, { max_tokens: 1 })).status).toBe(200)
    const before = world.engine.submissions.length
    const error = await errorOf(await ask(1024, { max_tokens: 1 }))
    expect(error).toEqual({
      status: 400,
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      param,
      message:
        "This model's maximum context length is 1024 tokens. However, your messages resulted in 1024 tokens. Please reduce the length of the messages.",
      details: {
        n_prompt_tokens: 1024,
        n_prompt_tokens_is: 'exact',
        n_output_tokens: 1,
        n_ctx: 1024,
        bound: 'prefill_pool',
      },
    })
    expect(world.engine.submissions).toHaveLength(before)
  })

  it('600 and 700 are served although their sum exceeds the prefill pool', async () => {
    expect((await ask(600, { max_tokens: 700 })).status).toBe(200)
    expect(world.engine.submissions.at(-1)?.request.contract).toMatchObject({ promptTokens: 600, maxOutput: 700 })
  })

  it('without max_tokens the room that is left is contracted', async () => {
    await ask(1020)
    expect(world.engine.submissions.at(-1)?.request.contract.maxOutput).toBe(1024)
  })

  it('an output that can never fit is 400 with the second wording', async () => {
    const error = await errorOf(await ask(600, { max_tokens: 10 ** 12 }))
    expect(error).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param,
      details: { n_prompt_tokens: 600, n_output_tokens: 10 ** 12, n_ctx: 2048, bound: 'context_window' },
    })
    expect(error.message).toBe(
      "This model's maximum context length is 2048 tokens. However, you requested 1000000000600 tokens (600 in the messages, 1000000000000 in the completion). Please reduce the length of the messages or completion.",
    )
  })

  it('numbers beyond counting are refused the same way', async () => {
    expect(await errorOf(await ask(600, { max_tokens: 1e300, n: 8 }))).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    })
  })

  it('a hopeless prompt is counted only until it is hopeless', async () => {
    const error = await errorOf(await ask(100_000))
    expect(error).toMatchObject({
      status: 400,
      details: { n_prompt_tokens: 1025, n_prompt_tokens_is: 'at_least', bound: 'prefill_pool' },
    })
    expect(error.message).toContain('resulted in 1025 tokens')
  })
})

describe('legality is judged before pressure (R13)', () => {
  const pressed = async (): Promise<World> => {
    const tight = createWorld({ limits: { requestsPerMinute: 1, concurrent: 1 } })
    tight.engine.onSubmit = answering('k')
    await tight.post('/v1/completions', { model: 'tiny', prompt: 'x' })
    return tight
  }

  it('an over-long prompt is 400 although the rate is used up', async () => {
    const tight = await pressed()
    expect((await tight.post('/v1/completions', { model: 'tiny', prompt: 'x'.repeat(2000) })).status).toBe(400)
    expect((await tight.post('/v1/completions', { model: 'tiny', prompt: 'x' })).status).toBe(429)
  })

  it('and although the model is not ready', async () => {
    const down = createWorld()
    down.engine.served = []
    expect((await down.post('/v1/completions', { model: 'tiny', prompt: 'x'.repeat(2000) })).status).toBe(400)
  })
})

describe('rates', () => {
  it('429 says when to come back, what the limits are, and spares the engine', async () => {
    const tight = createWorld({ limits: { requestsPerMinute: 2, tokensPerMinute: 5000 } })
    tight.engine.onSubmit = answering('ok')
    const ask = (): Promise<Response> => tight.post('/v1/completions', { model: 'tiny', prompt: 'x', max_tokens: 10 })
    const first = await ask()
    expect(first.status).toBe(200)
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('2')
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1')
    await ask()
    const response = await ask()
    expect(response.headers.get('retry-after')).toBe('30')
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    expect(await errorOf(response)).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
    })
    expect(tight.engine.submissions).toHaveLength(2)
    tight.now += 30_000
    expect((await ask()).status).toBe(200)
  })

  it('tokens are reserved for the whole contract and settled for what was used', async () => {
    const tight = createWorld({ limits: { tokensPerMinute: 1000 } })
    tight.engine.onSubmit = answering('ok')
    for (let i = 0; i < 5; i++) {
      expect((await tight.post('/v1/completions', { model: 'tiny', prompt: 'x', max_tokens: 900 })).status).toBe(200)
    }
    tight.engine.onSubmit = () => undefined
    const running = new AbortController()
    const pending = tight.post(
      '/v1/completions',
      { model: 'tiny', prompt: 'x', max_tokens: 900 },
      { signal: running.signal },
    )
    await Promise.resolve()
    expect((await tight.post('/v1/completions', { model: 'tiny', prompt: 'x', max_tokens: 900 })).status).toBe(429)
    running.abort()
    await pending
    tight.engine.onSubmit = answering('ok')
    expect((await tight.post('/v1/completions', { model: 'tiny', prompt: 'x', max_tokens: 900 })).status).toBe(200)
  })

  it("tenants do not use up each other's", async () => {
    const tight = createWorld({ limits: { requestsPerMinute: 1 } })
    tight.engine.onSubmit = answering('ok')
    const as = (key: string): Promise<Response> =>
      tight.post('/v1/completions', { model: 'tiny', prompt: 'x' }, { headers: { authorization: `Bearer ${key}` } })
    expect([(await as('key-a')).status, (await as('key-a')).status, (await as('key-b')).status]).toEqual([
      200, 429, 200,
    ])
    expect((await as('key-b2')).status).toBe(429)
  })

  it('a KV quota bounds an answer whose length is left open, and refuses none that fits', async () => {
    const tight = createWorld({ limits: { kvBytes: 2000 } })
    tight.engine.onSubmit = answering('k')
    const response = await tight.post('/v1/completions', { model: 'tiny', prompt: 'x' })
    expect(response.status).toBe(200)
    expect(tight.engine.submissions.at(-1)?.request.contract.maxOutput).toBe(31)
  })

  it('a KV quota counts the pages of the contract', async () => {
    const tight = createWorld({ limits: { kvBytes: 2000 } })
    const ask = (maxTokens: number): Promise<Response> =>
      tight.post('/v1/completions', { model: 'tiny', prompt: 'x', max_tokens: maxTokens })
    tight.engine.onSubmit = answering('k')
    expect((await ask(31)).status).toBe(200)
    expect(await errorOf(await ask(32))).toMatchObject({
      status: 400,
      code: 'kv_quota_exceeded',
      details: { kv_bytes: 3000, kv_bytes_quota: 2000 },
    })
  })
})

describe('large bodies', () => {
  it('are prepared on the other thread, small ones here, with the same answers', async () => {
    const large = createWorld({
      models: [byteModel('tiny', { advertisedWindow: 1e6, prefillPool: 1e6, decodePool: 1e6, pageSize: 16 })],
    })
    large.engine.onSubmit = answering('ok')
    expect((await large.post('/v1/completions', { model: 'tiny', prompt: 'x'.repeat(1000) })).status).toBe(200)
    expect(large.offloaded).toEqual([])
    expect((await large.post('/v1/completions', { model: 'tiny', prompt: 'x'.repeat(300_000) })).status).toBe(200)
    expect(large.offloaded).toEqual(['prepare'])
    const error = await errorOf(
      await large.post('/v1/completions', { model: 'tiny', prompt: 'x'.repeat(300_000), n: 1000 }),
    )
    expect(error).toMatchObject({ status: 400, param: 'n' })
    expect((await large.post('/tokenize', { model: 'tiny', prompt: 'x'.repeat(300_000) })).status).toBe(200)
  })

  it('a thread that fails is a 503, not a broken connection', async () => {
    const broken = createWorld({
      offloadAbove: 10,
      offload: { call: () => Promise.reject(new Error('the body was SECRET')) },
    })
    const response = await broken.post('/v1/completions', { model: 'tiny', prompt: 'SECRET' })
    expect(response.headers.get('retry-after')).toBe('1')
    const error = await errorOf(response)
    expect(error).toMatchObject({ status: 503, code: 'unavailable' })
    expect(error.message).not.toContain('SECRET')
  })
})
