import { z } from 'zod'
import { parseListen } from './listen.ts'
import { parseDuration, parseSize } from './units.ts'

/** The engine's pages: its attention walks blocks of 128 tokens, four at a time. */
export const PAGE_SIZES = [4, 8, 16, 32, 64, 128] as const

const POSITIVE = 'a whole number above 0'
const positive = z.int({ error: POSITIVE }).min(1, { error: POSITIVE })
const text = (expected: string): z.ZodString => z.string({ error: expected }).min(1, { error: expected })
const oneOf = <const T extends readonly [string, ...string[]]>(values: T): z.ZodType<T[number], T[number]> =>
  z.enum(values, { error: values.join(' or ') })

const duration = z
  .string({ error: 'a duration such as 60s' })
  .refine((value) => (parseDuration(value) ?? 0) > 0, { error: 'a duration such as 60s, 250ms or 2m' })
  .transform((value) => parseDuration(value)!)

const DRILLS = 'a duration from 10s to 24h'
const drillEvery = z
  .string({ error: DRILLS })
  .refine((value) => isBetween(parseDuration(value), 10_000, 86_400_000), { error: DRILLS })
  .transform((value) => parseDuration(value)!)

const size = z
  .string({ error: 'a size such as 32MiB' })
  .refine((value) => (parseSize(value) ?? 0) > 0, { error: 'a size such as 32MiB or 2GiB' })
  .transform((value) => parseSize(value)!)

const ENV = 'the name of an environment variable'
const env = z.string({ error: ENV }).regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: ENV })
const DIGEST = '64 hexadecimal digits'
const KEY = 'either env (a variable that holds the key) or sha256 (its digest)'

const key = z
  .strictObject(
    {
      env: env.optional(),
      sha256: z
        .string({ error: DIGEST })
        .regex(/^[0-9a-fA-F]{64}$/, { error: DIGEST })
        .optional(),
    },
    { error: KEY },
  )
  .refine((value) => (value.env === undefined) !== (value.sha256 === undefined), { error: KEY })

const keys = z.array(key, { error: 'a list of keys' }).min(1, { error: 'at least one key' })

const limits = z.strictObject(
  {
    requests_per_minute: positive.optional(),
    tokens_per_minute: positive.optional(),
    concurrent: positive.optional(),
    kv_bytes: size.optional(),
  },
  { error: 'limits by name' },
)

const TENANT = 'a name of at most 64 letters, digits, dots, dashes and underscores'
const tenant = z.strictObject(
  {
    id: z.string({ error: TENANT }).regex(/^[A-Za-z0-9._-]{1,64}$/, { error: TENANT }),
    keys,
    limits: limits.optional(),
  },
  { error: 'a tenant with id and keys' },
)

const engine = z.strictObject(
  {
    kind: z.literal('embedded', { error: 'embedded' }).default('embedded'),
    weights: text('a GGUF file').optional(),
    prefill_pool: positive.default(16_384),
    decode_pool: positive.default(16_384),
    page_size: z.literal(PAGE_SIZES, { error: `one of ${PAGE_SIZES.join(', ')}` }).default(16),
    kv_dtype: z.literal('f32', { error: 'f32' }).default('f32'),
    prefix_cache: oneOf(['on', 'off']).default('on'),
    public_prefixes: z.array(text('a text that every tenant may share'), { error: 'a list of texts' }).default([]),
    integrity: oneOf(['full', 'tags']).default('full'),
    scrub: oneOf(['tags', 'zero', 'poison']).default('tags'),
    transport: oneOf(['socket', 'tcp', 'shared']).default('socket'),
    threads: positive.max(256, { error: 'at most 256 threads' }).default(1),
  },
  { error: 'an engine' },
)

const MODEL = 'a name of at most 128 letters, digits and any of . _ - / @ :'
const model = z.strictObject(
  {
    id: z.string({ error: MODEL }).regex(/^[A-Za-z0-9@][A-Za-z0-9._\-/@:]{0,127}$/, { error: MODEL }),
    context_window: positive.optional(),
    on_short_pool: oneOf(['refuse', 'clamp']).default('refuse'),
    default_max_tokens: positive.default(1_024),
    engine: engine.default(engine.parse({})),
  },
  { error: 'a model with id and engine' },
)

const HOST = 'a host name, without scheme or port'

/** The file's shape. Strict: what is not named here is an error, since a misspelt limit would be no limit. */
export const configSchema = z.strictObject(
  {
    listen: z
      .string({ error: 'HOST:PORT' })
      .refine((value) => parseListen(value) !== null, { error: 'HOST:PORT with a port from 0 to 65535' })
      .default('127.0.0.1:8790'),
    allowed_hosts: z
      .array(z.string({ error: HOST }).regex(/^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\])$/, { error: HOST }), {
        error: 'a list of host names',
      })
      .min(1, { error: 'at least one host name' })
      .optional(),
    secret: z.strictObject({ env }, { error: 'env: the name of an environment variable' }).optional(),
    admin: z.strictObject({ keys }, { error: 'keys' }).optional(),
    tenants: z.array(tenant, { error: 'a list of tenants' }).min(1, { error: 'at least one tenant' }).optional(),
    models: z.array(model, { error: 'a list of models' }).min(1, { error: 'at least one model' }).optional(),
    queue_timeout: duration.default(60_000),
    queue_places: positive.default(1_024),
    drill_every: drillEvery.default(300_000),
    body_limit: size.default(32 * 2 ** 20),
    security_txt: text('a file').optional(),
  },
  { error: 'a mapping of keys' },
)

export type ConfigInput = z.output<typeof configSchema>
export type ModelInput = NonNullable<ConfigInput['models']>[number]
export type KeyInput = z.output<typeof key>

/** The file's shape as JSON Schema (draft 2020-12), for editors. */
export function configJsonSchema(): Record<string, unknown> {
  return { title: 'Bulkhead configuration', ...z.toJSONSchema(configSchema, { io: 'input' }) }
}

function isBetween(value: number | null, least: number, most: number): boolean {
  return value !== null && value >= least && value <= most
}
