import { describe, expect, it } from 'vitest'
import { byteModel, createWorld, errorOf } from './testing/doubles.ts'

const chat = (extra: object = {}): object => ({ model: 'tiny', messages: [{ role: 'user', content: 'hi' }], ...extra })
const text = (extra: object = {}): object => ({ model: 'tiny', prompt: 'hi', ...extra })
const said = (message: unknown): object => ({ model: 'tiny', messages: [message] })

type Case = readonly [name: string, body: unknown, code: string, param: string | null]

const common: readonly Case[] = [
  ['nothing', '', 'invalid_json', null],
  ['no JSON', '{"model":', 'invalid_json', null],
  ['NaN, which is no JSON', '{"model":"tiny","temperature":NaN}', 'invalid_json', null],
  ['an array', [], 'invalid_type', null],
  ['a string', '"hi"', 'invalid_type', null],
  ['null', 'null', 'invalid_type', null],
  ['nesting 100,000 deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'invalid_json', null],
  ['objects nested 100,000 deep', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 'invalid_json', null],
]

const shared: readonly (readonly [name: string, fields: object, code: string, param: string])[] = [
  ['no model', { model: null }, 'missing_required_parameter', 'model'],
  ['a model that is a number', { model: 7 }, 'invalid_type', 'model'],
  ['an empty model', { model: '' }, 'invalid_value', 'model'],
  ['max_tokens 0', { max_tokens: 0 }, 'invalid_value', 'max_tokens'],
  ['max_tokens -1', { max_tokens: -1 }, 'invalid_value', 'max_tokens'],
  ['max_tokens 1.5', { max_tokens: 1.5 }, 'invalid_type', 'max_tokens'],
  ['max_tokens "5"', { max_tokens: '5' }, 'invalid_type', 'max_tokens'],
  ['max_tokens true', { max_tokens: true }, 'invalid_type', 'max_tokens'],
  ['max_completion_tokens 0', { max_completion_tokens: 0 }, 'invalid_value', 'max_completion_tokens'],
  ['both maxima', { max_tokens: 5, max_completion_tokens: 5 }, 'invalid_parameter_combination', 'max_tokens'],
  ['n 0', { n: 0 }, 'invalid_value', 'n'],
  ['n 9', { n: 9 }, 'invalid_value', 'n'],
  ['n 1000', { n: 1000 }, 'invalid_value', 'n'],
  ['n 1.5', { n: 1.5 }, 'invalid_type', 'n'],
  ['n []', { n: [] }, 'invalid_type', 'n'],
  ['temperature 1e9', { temperature: 1e9 }, 'invalid_value', 'temperature'],
  ['temperature -0.1', { temperature: -0.1 }, 'invalid_value', 'temperature'],
  ['temperature "hot"', { temperature: 'hot' }, 'invalid_type', 'temperature'],
  ['top_p 1.1', { top_p: 1.1 }, 'invalid_value', 'top_p'],
  ['top_p "1"', { top_p: '1' }, 'invalid_type', 'top_p'],
  ['top_k -2', { top_k: -2 }, 'invalid_value', 'top_k'],
  ['top_k 1.5', { top_k: 1.5 }, 'invalid_type', 'top_k'],
  ['seed 1.5', { seed: 1.5 }, 'invalid_type', 'seed'],
  ['seed "x"', { seed: 'x' }, 'invalid_type', 'seed'],
  ['five stops', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'invalid_value', 'stop'],
  ['an empty stop', { stop: '' }, 'invalid_value', 'stop'],
  ['an empty stop in a list', { stop: ['a', ''] }, 'invalid_value', 'stop[1]'],
  ['a stop that is a number', { stop: [1] }, 'invalid_type', 'stop[0]'],
  ['a stop that is an object', { stop: {} }, 'invalid_type', 'stop'],
  ['a stop of 2,000 characters', { stop: 'x'.repeat(2000) }, 'invalid_value', 'stop'],
  ['stream "yes"', { stream: 'yes' }, 'invalid_type', 'stream'],
  ['stream_options []', { stream_options: [] }, 'invalid_type', 'stream_options'],
  ['include_usage 1', { stream_options: { include_usage: 1 } }, 'invalid_type', 'stream_options.include_usage'],
  ['presence_penalty 0.5', { presence_penalty: 0.5 }, 'unsupported_parameter', 'presence_penalty'],
  ['frequency_penalty 1', { frequency_penalty: 1 }, 'unsupported_parameter', 'frequency_penalty'],
  ['logit_bias', { logit_bias: { 50: 1 } }, 'unsupported_parameter', 'logit_bias'],
  ['tools', { tools: [{ type: 'function' }] }, 'unsupported_parameter', 'tools'],
  ['tool_choice required', { tool_choice: 'required' }, 'unsupported_parameter', 'tool_choice'],
  ['a JSON schema', { response_format: { type: 'json_schema' } }, 'unsupported_parameter', 'response_format'],
  ['JSON mode', { response_format: { type: 'json_object' } }, 'unsupported_parameter', 'response_format'],
  ['audio out', { modalities: ['text', 'audio'] }, 'unsupported_parameter', 'modalities'],
  ['min_p', { min_p: 0.1 }, 'unsupported_parameter', 'min_p'],
  ['best_of 3', { best_of: 3 }, 'unsupported_parameter', 'best_of'],
  ['guided decoding', { guided_json: {} }, 'unsupported_parameter', 'guided_json'],
]

const steering = [
  'rid',
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
  'bootstrap_pair_key',
  'kv_transfer_params',
  'cache_salt',
  'extra_key',
  'input_ids',
  'input_embeds',
  'prompt_token_ids',
  'truncate_prompt_tokens',
  'id_slot',
  'priority',
  'lora_path',
  'session_params',
  'data_parallel_rank',
  'routed_dp_rank',
  'return_hidden_states',
  'custom_logit_processor',
  'cache_prompt',
  'nvext',
  'Cache-Salt',
]

const cases: readonly (readonly [path: string, ...Case])[] = [
  ...['/v1/chat/completions', '/v1/completions', '/tokenize'].flatMap((path) =>
    common.map((row) => [path, ...row] as const),
  ),
  ...shared.map(([name, fields, code, param]) => ['/v1/chat/completions', name, chat(fields), code, param] as const),
  ...shared.map(([name, fields, code, param]) => ['/v1/completions', name, text(fields), code, param] as const),
  ...steering.map(
    (name) => ['/v1/chat/completions', name, chat({ [name]: 'x' }), 'unsupported_parameter', name] as const,
  ),
  ...steering.map((name) => ['/v1/completions', name, text({ [name]: null }), 'unsupported_parameter', name] as const),
  ['/tokenize', 'steering', { model: 'tiny', prompt: 'x', input_ids: [1] }, 'unsupported_parameter', 'input_ids'],
  ['/v1/completions', 'nested steering', text({ extra_body: { rid: 'x' } }), 'unsupported_parameter', 'extra_body.rid'],
  ['/v1/chat/completions', 'no messages', { model: 'tiny' }, 'missing_required_parameter', 'messages'],
  ['/v1/chat/completions', 'messages that are a string', chat({ messages: 'hi' }), 'invalid_type', 'messages'],
  ['/v1/chat/completions', 'empty messages', chat({ messages: [] }), 'invalid_value', 'messages'],
  [
    '/v1/chat/completions',
    'more messages than any conversation',
    chat({ messages: Array(20_000).fill({ role: 'user', content: '' }) }),
    'invalid_value',
    'messages',
  ],
  ['/v1/chat/completions', 'a message that is a string', said('hi'), 'invalid_type', 'messages[0]'],
  ['/v1/chat/completions', 'no role', said({ content: 'x' }), 'missing_required_parameter', 'messages[0].role'],
  [
    '/v1/chat/completions',
    'an unknown role',
    said({ role: 'root', content: 'x' }),
    'invalid_value',
    'messages[0].role',
  ],
  [
    '/v1/chat/completions',
    'a role of another type',
    said({ role: 1, content: 'x' }),
    'invalid_type',
    'messages[0].role',
  ],
  ['/v1/chat/completions', 'no content', said({ role: 'user' }), 'missing_required_parameter', 'messages[0].content'],
  ['/v1/chat/completions', 'content 7', said({ role: 'user', content: 7 }), 'invalid_type', 'messages[0].content'],
  [
    '/v1/chat/completions',
    'no content part',
    said({ role: 'user', content: [] }),
    'invalid_value',
    'messages[0].content',
  ],
  [
    '/v1/chat/completions',
    'a part without type',
    said({ role: 'user', content: [{ text: 'x' }] }),
    'missing_required_parameter',
    'messages[0].content[0].type',
  ],
  [
    '/v1/chat/completions',
    'an image',
    said({
      role: 'user',
      content: [
        { type: 'text', text: 'x' },
        { type: 'image_url', image_url: {} },
      ],
    }),
    'unsupported_value',
    'messages[0].content[1].type',
  ],
  [
    '/v1/chat/completions',
    'a text part of another type',
    said({ role: 'user', content: [{ type: 'text', text: 1 }] }),
    'invalid_type',
    'messages[0].content[0].text',
  ],
  [
    '/v1/chat/completions',
    'past tool calls',
    said({ role: 'assistant', content: 'x', tool_calls: [{}] }),
    'unsupported_parameter',
    'messages[0].tool_calls',
  ],
  [
    '/v1/chat/completions',
    'a conversation the template refuses',
    said({ role: 'tool', content: 'x' }),
    'invalid_value',
    'messages',
  ],
  ['/v1/chat/completions', 'logprobs 3', chat({ logprobs: 3 }), 'invalid_type', 'logprobs'],
  [
    '/v1/chat/completions',
    'top_logprobs 21',
    chat({ logprobs: true, top_logprobs: 21 }),
    'invalid_value',
    'top_logprobs',
  ],
  [
    '/v1/chat/completions',
    'top_logprobs alone',
    chat({ top_logprobs: 2 }),
    'invalid_parameter_combination',
    'top_logprobs',
  ],
  ['/v1/completions', 'no prompt', { model: 'tiny' }, 'missing_required_parameter', 'prompt'],
  ['/v1/completions', 'prompt 7', text({ prompt: 7 }), 'invalid_type', 'prompt'],
  ['/v1/completions', 'no prompt in a list', text({ prompt: [] }), 'invalid_value', 'prompt'],
  ['/v1/completions', 'token ids', text({ prompt: [1, 2, 3] }), 'unsupported_value', 'prompt'],
  ['/v1/completions', 'lists of token ids', text({ prompt: [[1, 2]] }), 'unsupported_value', 'prompt'],
  ['/v1/completions', 'two prompts', text({ prompt: ['a', 'b'] }), 'unsupported_value', 'prompt'],
  ['/v1/completions', 'an empty prompt', text({ prompt: '' }), 'invalid_value', 'prompt'],
  ['/v1/completions', 'logprobs true', text({ logprobs: true }), 'invalid_type', 'logprobs'],
  ['/v1/completions', 'echo', text({ echo: true }), 'unsupported_parameter', 'echo'],
  ['/v1/completions', 'a suffix', text({ suffix: 'x' }), 'unsupported_parameter', 'suffix'],
  ['/tokenize', 'neither prompt nor messages', { model: 'tiny' }, 'missing_required_parameter', 'prompt'],
  ['/tokenize', 'prompt and messages', { ...chat(), prompt: 'x' }, 'invalid_parameter_combination', 'prompt'],
  ['/tokenize', 'no model', { prompt: 'x' }, 'missing_required_parameter', 'model'],
]

describe('bad input gets a clear 400 and reaches no engine', () => {
  const world = createWorld()
  it.each(cases)('%s: %s', async (path, _name, body, code, param) => {
    const error = await errorOf(await world.post(path, body))
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', code, param })
    expect(error.message.length).toBeGreaterThan(10)
    expect(world.engine.submissions).toHaveLength(0)
  })

  it('a bound that is no bound is not shown', async () => {
    const error = await errorOf(await world.post('/v1/completions', text({ max_tokens: 0 })))
    expect(error.message).toBe("Invalid value for 'max_tokens': must be at least 1.")
  })

  it('1e999, which parses as infinity', async () => {
    const body = '{"model":"tiny","prompt":"x","temperature":1e999}'
    expect(await errorOf(await world.post('/v1/completions', body))).toMatchObject({
      status: 400,
      param: 'temperature',
    })
  })

  it('bytes that are not UTF-8, even where JSON would allow any character', async () => {
    const [head, tail] = ['{"model":"tiny","prompt":"', '"}'].map((part) => new TextEncoder().encode(part))
    const body = Uint8Array.from([...(head ?? []), 0xff, ...(tail ?? [])])
    const error = await errorOf(await world.send('/v1/completions', { method: 'POST', body }))
    expect(error).toMatchObject({ status: 400, code: 'invalid_json', message: 'The request body is not valid UTF-8.' })
  })

  it('no body at all', async () => {
    const response = await world.send('/v1/completions', { method: 'POST' })
    expect(await errorOf(response)).toMatchObject({ status: 400, code: 'invalid_json' })
  })

  it('a body over the limit is 413, however it is declared', async () => {
    const small = createWorld({ bodyLimit: 100 })
    const error = await errorOf(await small.post('/v1/completions', text({ prompt: 'x'.repeat(200) })))
    expect(error).toMatchObject({ status: 413, code: 'request_too_large' })
  })

  it('an unknown model is 404 and does not echo control characters', async () => {
    const error = await errorOf(await world.post('/v1/completions', text({ model: 'no\u001b[31mne' })))
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
    expect(error.message).not.toContain('\u001b')
  })

  it('a chat with a model that has no template', async () => {
    const model = byteModel()
    const plain = createWorld({ models: [{ ...model, prompt: { ...model.prompt, encodeChat: null } }] })
    const error = await errorOf(await plain.post('/v1/chat/completions', chat()))
    expect(error).toMatchObject({ status: 400, code: 'unsupported_value', param: 'model' })
    expect(error.message).toContain('/v1/completions')
  })

  it('never repeats the prompt', async () => {
    const body = `{"model":"tiny","prompt":"SECRET-TEXT",`
    expect(JSON.stringify(await errorOf(await world.post('/v1/completions', body)))).not.toContain('SECRET')
  })
})
