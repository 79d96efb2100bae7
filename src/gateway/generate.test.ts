import { describe, expect, it } from 'vitest'
import { answering, apiKey, createWorld, endId, readFrames } from './testing/doubles.ts'

const messages = [{ role: 'user', content: 'hi' }]
const parse = (frame: string | undefined): Record<string, unknown> =>
  JSON.parse(frame ?? 'null') as Record<string, unknown>

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

describe('an answer in one piece', () => {
  it('chat', async () => {
    const world = createWorld()
    world.engine.onSubmit = answering('hello')
    const response = await world.post('/v1/chat/completions', { model: 'tiny', messages })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
      object: 'chat.completion',
      created: 1_800_000_001,
      model: 'tiny',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 8, completion_tokens: 5, total_tokens: 13, prompt_tokens_details: { cached_tokens: 0 } },
    })
  })

  it('completions, n of them', async () => {
    const world = createWorld()
    world.engine.onSubmit = answering('hey', 'length')
    const response = await world.post('/v1/completions', { model: 'tiny', prompt: ['hi'], n: 2, max_tokens: 3 })
    expect(await response.json()).toMatchObject({
      object: 'text_completion',
      choices: [
        { index: 0, text: 'hey', logprobs: null, finish_reason: 'length' },
        { index: 1, text: 'hey', logprobs: null, finish_reason: 'length' },
      ],
      usage: { prompt_tokens: 2, completion_tokens: 6, total_tokens: 8 },
    })
  })

  it('hands the engine exactly what was asked and admitted', async () => {
    const world = createWorld()
    world.engine.onSubmit = answering('x')
    const body = {
      model: 'tiny',
      prompt: 'abc',
      max_tokens: 9,
      n: 2,
      temperature: 0,
      top_p: 0.5,
      top_k: 3,
      seed: -1,
      logprobs: 2,
    }
    await world.post('/v1/completions', body)
    expect(world.engine.submissions[0]?.request).toMatchObject({
      requestId: expect.stringMatching(/^req_[0-9a-f]{32}$/),
      tenant: 'a',
      model: 'tiny',
      ids: Int32Array.of(97, 98, 99),
      contract: { promptTokens: 3, maxOutput: 9, n: 2 },
      sampling: { temperature: 0, topP: 0.5, topK: 3, seed: 4_294_967_295, topLogprobs: 2 },
      endIds: [endId],
    })
  })

  it('lets go of the body before it waits for the engine', async () => {
    const world = createWorld()
    let released = 0
    world.engine.onSubmit = (submission) => {
      expect(released).toBe(1)
      answering('x')(submission)
    }
    const request = new Request('http://127.0.0.1/v1/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model: 'tiny', prompt: 'abc' }),
    })
    const releaseBody = (): void => {
      released += 1
    }
    expect((await world.handler(request, { remoteAddress: '127.0.0.1', releaseBody })).status).toBe(200)
    expect.assertions(2)
  })

  it('draws a seed where none was sent, and lets an open output be as long as it may', async () => {
    const world = createWorld()
    world.engine.onSubmit = answering('x')
    await world.post('/v1/completions', { model: 'tiny', prompt: 'abc' })
    expect(world.engine.submissions[0]?.request).toMatchObject({
      sampling: { seed: 7, topLogprobs: null },
      contract: { maxOutput: 1024 },
    })
  })

  it('log-probabilities in both forms', async () => {
    const world = createWorld()
    world.engine.onSubmit = answering('h€')
    const chat = await world.post('/v1/chat/completions', { model: 'tiny', messages, logprobs: true, top_logprobs: 1 })
    const { choices } = (await chat.json()) as { choices: { logprobs: { content: object[] } }[] }
    expect(choices[0]?.logprobs.content).toHaveLength(4)
    expect(choices[0]?.logprobs.content[0]).toEqual({
      token: 'h',
      logprob: -0.25,
      bytes: [104],
      top_logprobs: [{ token: 'h', logprob: -0.25, bytes: [104] }],
    })
    const old = await world.post('/v1/completions', { model: 'tiny', prompt: 'x', logprobs: 1 })
    expect(await old.json()).toMatchObject({
      choices: [
        {
          logprobs: {
            tokens: ['h', 'bytes:\\xe2', 'bytes:\\x82', 'bytes:\\xac'],
            token_logprobs: [-0.25, -0.25, -0.25, -0.25],
            text_offset: [0, 1, 1, 1],
          },
        },
      ],
    })
  })
})

describe('a stream', () => {
  it('chat: role, deltas, finish, usage, [DONE]', async () => {
    const world = createWorld()
    world.engine.onSubmit = answering('hé')
    const body = { model: 'tiny', messages, stream: true, stream_options: { include_usage: true } }
    const response = await world.post('/v1/chat/completions', body)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const { frames, ending } = await readFrames(response)
    expect(ending).toBe('closed')
    expect(frames.at(-1)).toBe('[DONE]')
    const chunks = frames.slice(0, -1).map(parse)
    const envelope = {
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion.chunk',
      created: 1_800_000_001,
      model: 'tiny',
    }
    const choice = (delta: object, reason: string | null = null): object => ({
      ...envelope,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      usage: null,
    })
    expect(chunks).toEqual([
      choice({ role: 'assistant', content: '' }),
      choice({ content: 'h' }),
      choice({ content: 'é' }),
      choice({}, 'stop'),
      {
        ...envelope,
        choices: [],
        usage: {
          prompt_tokens: 8,
          completion_tokens: 3,
          total_tokens: 11,
          prompt_tokens_details: { cached_tokens: 0 },
        },
      },
    ])
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
  })

  it('without include_usage no chunk has a usage field', async () => {
    const world = createWorld()
    world.engine.onSubmit = answering('hi')
    const { frames } = await readFrames(
      await world.post('/v1/completions', { model: 'tiny', prompt: 'x', stream: true }),
    )
    expect(
      frames
        .slice(0, -1)
        .map(parse)
        .some((chunk) => 'usage' in chunk),
    ).toBe(false)
    expect(parse(frames[0])).toMatchObject({
      object: 'text_completion',
      choices: [{ index: 0, text: 'h', finish_reason: null }],
    })
    expect(parse(frames.at(-2))).toMatchObject({ choices: [{ text: '', finish_reason: 'stop' }] })
  })

  it('n choices are told apart by their index, each with its own role and finish', async () => {
    const world = createWorld()
    const pending = world.post('/v1/chat/completions', { model: 'tiny', messages, n: 2, max_tokens: 2, stream: true })
    await settle()
    const submission = world.engine.submissions[0]
    submission?.say('a', 0)
    submission?.say('x', 1)
    submission?.say('b', 0)
    submission?.say('y', 1)
    submission?.emit({ kind: 'sequence_finished', sequence: 1, reason: 'length' })
    submission?.emit({ kind: 'sequence_finished', sequence: 0, reason: 'stop' })
    submission?.emit({ kind: 'done' })
    const { frames } = await readFrames(await pending)
    const seen = frames
      .slice(0, -1)
      .map(parse)
      .map(({ choices }) => (choices as { index: number; delta: object; finish_reason: string }[])[0])
    expect(seen.map((choice) => [choice?.index, choice?.delta, choice?.finish_reason])).toEqual([
      [0, { role: 'assistant', content: '' }, null],
      [0, { content: 'a' }, null],
      [1, { role: 'assistant', content: '' }, null],
      [1, { content: 'x' }, null],
      [0, { content: 'b' }, null],
      [1, { content: 'y' }, null],
      [1, {}, 'length'],
      [0, {}, 'stop'],
    ])
  })

  it('sends no status before the first verified token', async () => {
    const world = createWorld()
    let status = 0
    const pending = world.post('/v1/completions', { model: 'tiny', prompt: 'x', stream: true }).then((response) => {
      status = response.status
      return response
    })
    await settle()
    world.engine.submissions[0]?.emit({ kind: 'queued' })
    world.engine.submissions[0]?.emit({ kind: 'started' })
    await settle()
    expect(status).toBe(0)
    world.engine.submissions[0]?.say('a')
    await pending
    expect(status).toBe(200)
  })

  it('a stop string is looked for in the text and told to the engine', async () => {
    const world = createWorld()
    const pending = world.post('/v1/completions', { model: 'tiny', prompt: 'x', stop: '\n\n', stream: true })
    await settle()
    const submission = world.engine.submissions[0]
    submission?.say('one\n\nt')
    expect(submission?.finished).toEqual([0])
    submission?.emit({ kind: 'sequence_finished', sequence: 0, reason: 'stop' })
    submission?.emit({ kind: 'done' })
    const { frames } = await readFrames(await pending)
    const text = frames
      .slice(0, -1)
      .map((frame) => (parse(frame).choices as { text: string }[])[0]?.text)
      .join('')
    expect(text).toBe('one')
  })
})
