import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { describe, expect, it } from 'vitest'
import { answering, apiKey, createWorld, type World } from './testing/doubles.ts'

/** The real client library, with the gateway where its network would be. */
const clientOf = (world: World, key = apiKey): OpenAI =>
  new OpenAI({
    apiKey: key,
    baseURL: 'http://127.0.0.1:8790/v1',
    maxRetries: 0,
    fetch: (url, init) => world.handler(new Request(url, init), { remoteAddress: '127.0.0.1' }),
  })

const ask = { model: 'tiny', messages: [{ role: 'user' as const, content: 'hi' }] }

describe('the openai library', () => {
  const world = createWorld()
  world.engine.onSubmit = answering('hello')
  const client = clientOf(world)

  it('chats, streamed and not', async () => {
    const whole = await client.chat.completions.create(ask)
    expect(whole.choices[0]?.message.content).toBe('hello')
    expect(whole._request_id).toMatch(/^req_/)
    let text = ''
    let usage = 0
    for await (const chunk of await client.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    })) {
      text += chunk.choices[0]?.delta.content ?? ''
      usage = chunk.usage?.total_tokens ?? usage
    }
    expect([text, usage]).toEqual(['hello', 13])
  })

  it('assembles a stream with its own helper', async () => {
    const final = await client.chat.completions.stream({ ...ask, n: 2, logprobs: true }).finalChatCompletion()
    expect(final.choices.map(({ message, finish_reason }) => [message.content, finish_reason])).toEqual([
      ['hello', 'stop'],
      ['hello', 'stop'],
    ])
    expect(final.choices[0]?.logprobs?.content?.map(({ token }) => token).join('')).toBe('hello')
  })

  it('completes, lists models and retrieves one', async () => {
    expect((await client.completions.create({ model: 'tiny', prompt: 'x' })).choices[0]?.text).toBe('hello')
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['tiny'])
    expect((await client.models.retrieve('tiny')).id).toBe('tiny')
  })

  it('sees each refusal as the error class it has for it', async () => {
    await expect(client.chat.completions.create({ ...ask, n: 1000 })).rejects.toThrow(BadRequestError)
    await expect(client.chat.completions.create({ ...ask, model: 'none' })).rejects.toThrow(NotFoundError)
    await expect(clientOf(world, 'wrong').models.list()).rejects.toThrow(AuthenticationError)
    const tight = createWorld({ limits: { requestsPerMinute: 0.001 } })
    tight.engine.onSubmit = answering('x')
    await clientOf(tight).chat.completions.create(ask)
    await expect(clientOf(tight).chat.completions.create(ask)).rejects.toThrow(RateLimitError)
    const long = client.completions.create({ model: 'tiny', prompt: 'x'.repeat(3000) })
    await expect(long).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'prompt' })
  })

  it('does not take a broken stream for a complete one', async () => {
    const broken = createWorld()
    broken.engine.onSubmit = (submission) => {
      submission.say('half')
      submission.emit({ kind: 'failed', code: 'worker_lost', retryAfterSeconds: null })
    }
    const read = async (): Promise<string> => {
      let text = ''
      for await (const chunk of await clientOf(broken).chat.completions.create({ ...ask, stream: true }))
        text += chunk.choices[0]?.delta.content ?? ''
      return text
    }
    await expect(read()).rejects.toThrow(APIError)
    await expect(clientOf(broken).chat.completions.create(ask)).rejects.toThrow(InternalServerError)
  })

  it('aborts the engine when it aborts', async () => {
    const slow = createWorld()
    slow.engine.onSubmit = (submission) => submission.say('a')
    const stream = await clientOf(slow).chat.completions.create({ ...ask, stream: true })
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content === 'a') break
    }
    expect(slow.engine.submissions[0]?.aborted()).toBe(1)
  })
})
