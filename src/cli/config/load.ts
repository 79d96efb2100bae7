import { parseDocument } from 'yaml'
import { type Environment, readVariable, resolveKeys, tenantsFromEnvironment } from './keys.ts'
import { parseListen } from './listen.ts'
import { problem, problemsOf } from './problems.ts'
import { type ConfigInput, configSchema, type ModelInput } from './schema.ts'
import type { Config, ConfigProblem, ConfigResult, ModelConfig, TenantConfig } from './types.ts'

/** Models of this package, served where a configuration names none. */
export const BUILT_IN_MODELS = ['tiny', 'recall'] as const

/** Tickets and seals hang on it. */
const SHORTEST_SECRET = 16

/**
 * Checks a configuration file's text (null: there is none) and fills in defaults. Reads nothing but its arguments.
 * Every problem that can be seen at once is reported at once.
 */
export function loadConfig(text: string | null, environment: Environment): ConfigResult {
  const problems: ConfigProblem[] = []
  const data = text === null ? {} : parseYaml(text, problems)
  if (problems.length > 0) return { kind: 'refused', problems }
  const parsed = configSchema.safeParse(data)
  if (!parsed.success) return { kind: 'refused', problems: problemsOf(parsed.error.issues, data) }
  const config = resolve(parsed.data, text === null ? 'built-in' : 'file', environment, problems)
  return problems.length > 0 ? { kind: 'refused', problems } : { kind: 'ok', config }
}

function parseYaml(text: string, problems: ConfigProblem[]): unknown {
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true, stringKeys: true })
  for (const error of document.errors) {
    const line = text.slice(0, error.pos[0]).split('\n').length
    // only the parser's code: its message may quote the line, and a key may stand there
    problems.push(problem(`line ${line}`, 'YAML', error.code.toLowerCase().replaceAll('_', ' ')))
  }
  if (problems.length > 0) return null
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {}
  } catch (error) {
    problems.push(problem('the file', 'YAML with few aliases', error instanceof Error ? error.name : 'an error'))
    return null
  }
}

function resolve(
  input: ConfigInput,
  source: Config['source'],
  environment: Environment,
  problems: ConfigProblem[],
): Config {
  const fromFile = (input.tenants ?? []).map(({ id, keys, limits }, index) => ({
    id,
    keys: resolveKeys(keys, `tenants[${index}].keys`, environment, problems),
    limits: limits === undefined ? null : limitsOf(limits),
  }))
  const fromEnvironment = tenantsFromEnvironment(environment, problems)
  const tenants = [...fromFile, ...fromEnvironment]
  const adminKeys = resolveKeys(input.admin?.keys ?? [], 'admin.keys', environment, problems)
  const models = (input.models ?? BUILT_IN_MODELS.map(builtIn)).map((model, index) => modelOf(model, index, problems))
  const where = (index: number): string => (index < fromFile.length ? `tenants[${index}]` : 'BULKHEAD_KEYS')
  refuseDuplicates(tenants, adminKeys, where, problems)
  const seen = new Set<string>()
  models.forEach(({ id }, index) => {
    if (seen.has(id)) problems.push(problem(`models[${index}].id`, 'a name of its own', JSON.stringify(id)))
    seen.add(id)
  })
  const secret = input.secret && readVariable(input.secret.env, 'secret.env', environment, problems)
  if (typeof secret === 'string' && secret.length < SHORTEST_SECRET) {
    problems.push(
      problem(
        'secret.env',
        `a secret of at least ${SHORTEST_SECRET} characters`,
        `a shorter one in ${input.secret!.env}`,
      ),
    )
  }
  return {
    source,
    listen: parseListen(input.listen)!,
    allowedHosts: input.allowed_hosts?.map((host) => host.toLowerCase()) ?? null,
    secret: secret ?? null,
    adminKeys,
    tenants,
    demoTenants: source === 'built-in' || tenants.length === 0,
    models,
    queue: { timeoutMilliseconds: input.queue_timeout, places: input.queue_places },
    drillEveryMilliseconds: input.drill_every,
    bodyLimit: input.body_limit,
    securityTxt: input.security_txt ?? null,
  }
}

function refuseDuplicates(
  tenants: readonly TenantConfig[],
  adminKeys: readonly Uint8Array[],
  where: (index: number) => string,
  problems: ConfigProblem[],
): void {
  const ids = new Set<string>()
  const owners = new Map<string, string>()
  for (const key of adminKeys) owners.set(Buffer.from(key).toString('hex'), 'admin')
  tenants.forEach(({ id, keys }, index) => {
    if (ids.has(id)) problems.push(problem(`${where(index)}.id`, 'a name of its own', JSON.stringify(id)))
    ids.add(id)
    for (const key of keys) {
      const digest = Buffer.from(key).toString('hex')
      const owner = owners.get(digest)
      if (owner !== undefined) problems.push(problem(`${where(index)}.keys`, 'a key of its own', `the key of ${owner}`))
      owners.set(digest, id)
    }
  })
}

function limitsOf(limits: NonNullable<NonNullable<ConfigInput['tenants']>[number]['limits']>): TenantConfig['limits'] {
  return {
    requestsPerMinute: limits.requests_per_minute ?? null,
    tokensPerMinute: limits.tokens_per_minute ?? null,
    concurrent: limits.concurrent ?? null,
    kvBytes: limits.kv_bytes ?? null,
  }
}

function builtIn(id: string): ModelInput {
  return configSchema.shape.models.unwrap().parse([{ id }])[0]!
}

function modelOf(model: ModelInput, index: number, problems: ConfigProblem[]): ModelConfig {
  const { engine } = model
  const isBuiltIn = BUILT_IN_MODELS.some((name) => name === model.id)
  if (engine.weights === undefined && !isBuiltIn) {
    const expected = `a GGUF file (only ${BUILT_IN_MODELS.join(' and ')} come with the package)`
    problems.push(problem(`models[${index}].engine.weights`, expected, 'nothing'))
  }
  for (const pool of ['prefill_pool', 'decode_pool'] as const) {
    if (engine[pool] >= engine.page_size) continue
    problems.push(
      problem(
        `models[${index}].engine.${pool}`,
        `at least one page of ${engine.page_size} tokens`,
        String(engine[pool]),
      ),
    )
  }
  return {
    id: model.id,
    weights:
      engine.weights === undefined ? { kind: 'built-in', name: model.id } : { kind: 'file', path: engine.weights },
    contextWindow: model.context_window ?? null,
    onShortPool: model.on_short_pool,
    defaultMaxTokens: model.default_max_tokens,
    prefillPool: engine.prefill_pool,
    decodePool: engine.decode_pool,
    pageSize: engine.page_size,
    kvDtype: engine.kv_dtype,
    prefixCache: engine.prefix_cache,
    publicPrefixes: engine.public_prefixes,
    integrity: engine.integrity,
    scrub: engine.scrub,
    transport: engine.transport,
    threads: engine.threads,
  }
}
