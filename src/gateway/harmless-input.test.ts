import { describe, expect, it } from 'vitest'
import { field } from './input/fields.ts'
import { readMessages } from './input/messages.ts'
import { readPrompt } from './input/prompt.ts'
import { answering, createWorld } from './testing/doubles.ts'

const chat = (extra: object): object => ({ model: 'tiny', messages: [{ role: 'user', content: 'hi' }], ...extra })
const text = (extra: object): object => ({ model: 'tiny', prompt: 'hi', ...extra })

describe('harmless input is served', () => {
  const world = createWorld()
  world.engine.onSubmit = answering('ok')
  const accepted: readonly (readonly [string, object])[] = [
    [
      'what client libraries add',
      {
        user: 'u',
        metadata: { session_id: 's', priority: 'x' },
        store: false,
        service_tier: 'auto',
        parallel_tool_calls: true,
      },
    ],
    [
      'newer OpenAI fields',
      { reasoning_effort: 'low', verbosity: 'low', safety_identifier: 's', prompt_cache_key: 'k', prediction: null },
    ],
    [
      'neutral values',
      {
        presence_penalty: 0,
        frequency_penalty: 0,
        logit_bias: {},
        tools: [],
        tool_choice: 'none',
        response_format: { type: 'text' },
      },
    ],
    [
      'nulls',
      {
        max_tokens: null,
        n: null,
        stop: null,
        temperature: null,
        seed: null,
        stream: null,
        logprobs: null,
        stream_options: null,
      },
    ],
    ['stream_options without stream', { stream_options: { include_usage: true } }],
    ['a field nobody knows', { banana: { a: 1 } }],
    ['edge values', { temperature: 2, top_p: 0, top_k: -1, n: 8, seed: -1, stop: ['a', 'b', 'c', 'd'] }],
    ['a huge seed', { seed: 2 ** 63 }],
  ]
  it.each(accepted)('%s', async (_name, extra) => {
    expect((await world.post('/v1/chat/completions', chat(extra))).status).toBe(200)
    expect((await world.post('/v1/completions', text(extra))).status).toBe(200)
  })

  it('__proto__ and duplicate keys change nothing', async () => {
    const body = '{"model":"none","model":"tiny","__proto__":{"n":8,"rid":"x"},"constructor":{"a":1},"prompt":"x"}'
    expect((await world.post('/v1/completions', body)).status).toBe(200)
    expect(world.engine.submissions.at(-1)?.request.contract.n).toBe(1)
    expect(Object.hasOwn(Object.prototype, 'rid')).toBe(false)
  })

  it('lone surrogates count as U+FFFD', async () => {
    expect((await world.post('/v1/completions', '{"model":"tiny","prompt":"a\\ud800b"}')).status).toBe(200)
    expect(world.engine.submissions.at(-1)?.request.ids).toEqual(Int32Array.of(97, 0xef, 0xbf, 0xbd, 98))
  })

  it('lone surrogates never get as far as a template or a tokenizer', () => {
    expect(readPrompt({ prompt: 'a\ud800b\udfffc\ud83d\ude00' })).toBe('a\ufffdb\ufffdc\u{1f600}')
    const messages = [{ role: 'user', content: '\ud800', name: '\udc00' }]
    expect(readMessages({ messages })).toEqual([{ role: 'user', content: '\ufffd', name: '\ufffd' }])
  })

  it('nothing inherited is read as a field', () => {
    expect(field(Object.create({ n: 8 }) as Record<string, unknown>, 'n')).toBeNull()
    expect(field({}, 'constructor')).toBeNull()
  })

  it('text parts are joined', async () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]
    await world.post('/v1/chat/completions', { model: 'tiny', messages: [{ role: 'user', content }] })
    expect(String.fromCharCode(...(world.engine.submissions.at(-1)?.request.ids ?? []))).toBe('user:ab\n')
  })
})
