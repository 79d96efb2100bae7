import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Config, type ConfigProblem, configJsonSchema, keyDigest, loadConfig } from './index.ts'

function accepted(text: string | null, environment: Record<string, string> = {}): Config {
  const result = loadConfig(text, environment)
  if (result.kind === 'refused') throw new Error(result.problems.map(({ message }) => message).join('; '))
  return result.config
}

function refused(text: string | null, environment: Record<string, string> = {}): readonly ConfigProblem[] {
  const result = loadConfig(text, environment)
  if (result.kind === 'ok') throw new Error('nothing was refused')
  return result.problems
}

const messages = (text: string, environment: Record<string, string> = {}): string[] =>
  refused(text, environment).map(({ message }) => message)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('without a file', () => {
  it('serves both built-in models on the loopback and makes demo tenants', () => {
    const config = accepted(null)
    expect(config).toMatchObject({
      source: 'built-in',
      listen: { host: '127.0.0.1', port: 8790 },
      demoTenants: true,
      tenants: [],
      queue: { timeoutMilliseconds: 60_000, places: 1024 },
      drillEveryMilliseconds: 300_000,
      bodyLimit: 32 * 1024 * 1024,
    })
    expect(
      config.models.map(({ id, weights, prefillPool, decodePool, pageSize, onShortPool, integrity }) => [
        id,
        weights,
        prefillPool,
        decodePool,
        pageSize,
        onShortPool,
        integrity,
      ]),
    ).toEqual([
      ['tiny', { kind: 'built-in', name: 'tiny' }, 16_384, 16_384, 16, 'refuse', 'full'],
      ['recall', { kind: 'built-in', name: 'recall' }, 16_384, 16_384, 16, 'refuse', 'full'],
    ])
  })

  it('takes tenants from BULKHEAD_KEYS beside the demo ones', () => {
    const config = accepted(null, { BULKHEAD_KEYS: 'a=KEY1, b=KEY2=x' })
    expect(config.demoTenants).toBe(true)
    expect(config.tenants.map(({ id, keys, limits }) => [id, keys.map(hex), limits])).toEqual([
      ['a', [sha256('KEY1')], null],
      ['b', [sha256('KEY2=x')], null],
    ])
  })
})

describe('a file', () => {
  it('is read with its units, keys and defaults', () => {
    const config = accepted(
      `listen: "[::1]:0"
allowed_hosts: [Bulkhead.Example]
secret: { env: BULKHEAD_SECRET }
admin: { keys: [{ sha256: ${sha256('root').toUpperCase()} }] }
queue_timeout: 1.5m
queue_places: 3
drill_every: 30s
body_limit: 1MiB
security_txt: ./security.txt
tenants:
  - id: acme
    keys: [{ env: ACME_KEY }, { sha256: ${sha256('second')} }]
    limits: { requests_per_minute: 600, tokens_per_minute: 2000000, concurrent: 32, kv_bytes: 2GiB }
models:
  - id: tiny
    context_window: 2048
    on_short_pool: clamp
    default_max_tokens: 64
    engine: { kind: embedded, weights: ./models/x.gguf, prefill_pool: 1024, decode_pool: 2048, page_size: 32,
              kv_dtype: f32, prefix_cache: off, public_prefixes: [Be kind.], integrity: tags, scrub: poison, transport: socket, threads: 2 }
`,
      { ACME_KEY: 'first', BULKHEAD_SECRET: 'a secret of some length' },
    )
    expect({
      ...config,
      tenants: config.tenants.map(({ id, keys, limits }) => ({ id, keys: keys.map(hex), limits })),
      adminKeys: config.adminKeys.map(hex),
    }).toEqual({
      source: 'file',
      listen: { host: '::1', port: 0 },
      allowedHosts: ['bulkhead.example'],
      secret: 'a secret of some length',
      adminKeys: [sha256('root')],
      demoTenants: false,
      tenants: [
        {
          id: 'acme',
          keys: [sha256('first'), sha256('second')],
          limits: { requestsPerMinute: 600, tokensPerMinute: 2_000_000, concurrent: 32, kvBytes: 2 ** 31 },
        },
      ],
      models: [
        {
          id: 'tiny',
          weights: { kind: 'file', path: './models/x.gguf' },
          contextWindow: 2048,
          onShortPool: 'clamp',
          defaultMaxTokens: 64,
          prefillPool: 1024,
          decodePool: 2048,
          pageSize: 32,
          kvDtype: 'f32',
          prefixCache: 'off',
          publicPrefixes: ['Be kind.'],
          integrity: 'tags',
          scrub: 'poison',
          transport: 'socket',
          threads: 2,
        },
      ],
      queue: { timeoutMilliseconds: 90_000, places: 3 },
      drillEveryMilliseconds: 30_000,
      bodyLimit: 1024 * 1024,
      securityTxt: './security.txt',
    })
  })

  it('refuses a key that no Authorization header could carry', () => {
    expect(accepted(null, { BULKHEAD_KEYS: `a=${'k'.repeat(512)}` }).tenants).toHaveLength(1)
    expect(messages('listen: 127.0.0.1:1', { BULKHEAD_KEYS: `a=${'k'.repeat(513)}` })).toEqual([
      'BULKHEAD_KEYS: expected TENANT=KEY, a key of at most 512 printable ASCII characters without spaces, got something else in entry 1',
    ])
  })

  it('without tenants makes demo ones unless BULKHEAD_KEYS names some', () => {
    expect(accepted('listen: 127.0.0.1:1').demoTenants).toBe(true)
    expect(accepted('listen: 127.0.0.1:1', { BULKHEAD_KEYS: 'a=k' })).toMatchObject({
      demoTenants: false,
      tenants: [{ id: 'a' }],
    })
    expect(accepted('').source).toBe('file')
  })

  it('names an unknown key, its place and the nearest valid name', () => {
    expect(messages('lisen: x\nmodels: [{ id: tiny, engine: { prefil_pool: 3 } }]\nzzzzzz: 1')).toEqual([
      'models[0].engine.prefil_pool: unknown key; did you mean prefill_pool?',
      'lisen: unknown key; did you mean listen?',
      expect.stringMatching(/^zzzzzz: unknown key; known here: listen, /),
    ])
  })

  it('says of what is designed and not built that it is not in this version', () => {
    const text = `guards: { egress: enforce }
evidence: { dir: x }
tenants: [{ id: a, account_id: a, keys: [{ sha256: ${sha256('k')} }] }]
models:
  - id: tiny
    engine: { kv_dtype: bf16 }
  - id: fleet
    tokenizer: ./tokenizer.json
    engine: { kind: sglang, weights: x }`
    const found = messages(text)
    for (const path of [
      'guards',
      'evidence',
      'tenants[0].account_id',
      'models[0].engine.kv_dtype',
      'models[1].tokenizer',
      'models[1].engine.kind',
    ]) {
      expect(
        found.filter((message) => message.startsWith(`${path}: not in this version`)),
        path,
      ).toHaveLength(1)
    }
    expect(found).toHaveLength(6)
  })

  it('reports every wrong value at once, with what was expected and what stands there', () => {
    const found = refused(`listen: 99
queue_timeout: 60
drill_every: 9s
body_limit: 0MiB
allowed_hosts: ["http://x"]
models: [{ id: "a b", engine: { prefill_pool: -1, decode_pool: 1.5, page_size: 17, integrity: some } }]`)
    expect(found.map(({ path, received }) => [path, received])).toEqual([
      ['listen', '99'],
      ['allowed_hosts[0]', '"http://x"'],
      ['models[0].id', '"a b"'],
      ['models[0].engine.prefill_pool', '-1'],
      ['models[0].engine.decode_pool', '1.5'],
      ['models[0].engine.page_size', '17'],
      ['models[0].engine.integrity', '"some"'],
      ['queue_timeout', '60'],
      ['drill_every', '"9s"'],
      ['body_limit', '"0MiB"'],
    ])
    expect(found[3]!.expected).toBe('a whole number above 0')
  })

  it("refuses twins: tenants, keys, models, and keys of tenants that are the admin's", () => {
    const key = (of: string): string => `keys: [{ sha256: ${sha256(of)} }]`
    expect(messages(`tenants: [{ id: a, ${key('1')} }, { id: a, ${key('2')} }]`)).toEqual([
      'tenants[1].id: expected a name of its own, got "a"',
    ])
    expect(messages(`tenants: [{ id: a, ${key('1')} }, { id: b, ${key('1')} }]`)).toEqual([
      'tenants[1].keys: expected a key of its own, got the key of a',
    ])
    expect(messages(`tenants: [{ id: a, ${key('1')} }]`, { BULKHEAD_KEYS: 'b=1' })).toEqual([
      'BULKHEAD_KEYS.keys: expected a key of its own, got the key of a',
    ])
    expect(messages(`admin: { ${key('1')} }\ntenants: [{ id: a, ${key('1')} }]`)).toEqual([
      'tenants[0].keys: expected a key of its own, got the key of admin',
    ])
    expect(messages('models: [{ id: tiny }, { id: tiny }]')).toEqual([
      'models[1].id: expected a name of its own, got "tiny"',
    ])
  })

  it('wants weights for a model that is not built in, and pools of a page at least', () => {
    expect(messages('models: [{ id: big }]')).toEqual([
      'models[0].engine.weights: expected a GGUF file (only tiny and recall come with the package), got nothing',
    ])
    expect(messages('models: [{ id: tiny, engine: { prefill_pool: 8 } }]')).toEqual([
      'models[0].engine.prefill_pool: expected at least one page of 16 tokens, got 8',
    ])
  })

  it('refuses what is no YAML, no mapping, or a bomb of aliases', () => {
    expect(messages('a: [1\nb: {')[0]).toMatch(/^line \d+: expected YAML, got /)
    expect(messages('listen: 127.0.0.1:1\nlisten: 127.0.0.1:2')[0]).toBe('line 2: expected YAML, got duplicate key')
    expect(messages('- 1')).toEqual(['the file: expected a mapping of keys, got a list'])
    const bomb = ['a: &a0 [x, x]', ...Array.from({ length: 30 }, (_, i) => `b${i}: &a${i + 1} [*a${i}, *a${i}]`)].join(
      '\n',
    )
    expect(messages(bomb)).toEqual([expect.stringContaining('YAML with few aliases')])
  })
})

describe('keys and secrets', () => {
  const secrets = ['sk-very-secret', 'hunter2hunter2']

  it('are named by their variable and never shown, whatever is wrong with them', () => {
    const files: readonly [string, Record<string, string>][] = [
      ['tenants: [{ id: a, keys: [{ env: MISSING }] }]', {}],
      ['tenants: [{ id: a, keys: [{ env: EMPTY }] }]', { EMPTY: '' }],
      ['tenants: [{ id: a, keys: [sk-very-secret] }]', {}],
      ['tenants: [{ id: a, keys: [{ env: sk-very-secret }] }]', {}],
      ['tenants: [{ id: a, keys: [{ sha256: sk-very-secret }] }]', {}],
      ['tenants: [{ id: a, keys: sk-very-secret }]', {}],
      ['tenants: [{ id: a, keys: [{ env: K }] }]', { K: 'sk-very-secret and a space' }],
      ['secret: hunter2hunter2', {}],
      ['secret: { env: S }', { S: 'hunter2' }],
      ['admin: { keys: [hunter2hunter2] }', {}],
      ['admin: hunter2hunter2', {}],
      ['listen: 127.0.0.1:1', { BULKHEAD_KEYS: 'sk-very-secret' }],
      ['listen: 127.0.0.1:1', { BULKHEAD_KEYS: 'a=sk-very-secret,b=sk-very-secret' }],
      ['key: "sk-very-secret', {}],
    ]
    for (const [text, environment] of files) {
      const found = JSON.stringify(refused(text, environment))
      for (const secret of secrets) expect(found, text).not.toContain(secret)
    }
    expect(messages(...files[0]!)).toEqual([
      'tenants[0].keys[0].env: expected environment variable MISSING to be set, got none',
    ])
  })

  it('are kept as digests alone', () => {
    const config = accepted('tenants: [{ id: a, keys: [{ env: K }] }]', { K: 'sk-very-secret' })
    expect(JSON.stringify(config)).not.toContain('sk-very-secret')
    expect(hex(keyDigest('sk-very-secret'))).toBe(hex(config.tenants[0]!.keys[0]!))
  })
})

describe('loadConfig', () => {
  it('answers whatever the text is', () => {
    const property = fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(['ok', 'refused']).toContain(loadConfig(text, {}).kind)
    })
    fc.assert(property, { numRuns: 300 })
  })

  it('publishes its shape as JSON Schema, closed at every level', () => {
    const schema = configJsonSchema()
    const open: string[] = []
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return
      if ('properties' in node && (node as { additionalProperties?: unknown }).additionalProperties !== false)
        open.push(path)
      for (const [key, child] of Object.entries(node)) visit(child, `${path}/${key}`)
    }
    visit(schema, '')
    expect([open, Object.keys(schema.properties as object)]).toEqual([[], expect.arrayContaining(['queue_timeout'])])
  })
})
