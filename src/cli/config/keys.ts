import { createHash } from 'node:crypto'
import { problem } from './problems.ts'
import type { KeyInput } from './schema.ts'
import type { ConfigProblem, TenantConfig } from './types.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** As long as an Authorization header may carry one: a longer key could never be used. */
const LONGEST = 512
const KEY = `a key of at most ${LONGEST} printable ASCII characters without spaces`

/** SHA-256 of a key's UTF-8 bytes: what is compared, and all that is kept. */
export function keyDigest(key: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(key, 'utf8').digest())
}

/** Resolves keys; what is missing goes to `problems` by the variable's name, never by its value. */
export function resolveKeys(
  keys: readonly KeyInput[],
  path: string,
  environment: Environment,
  problems: ConfigProblem[],
): Uint8Array[] {
  return keys.flatMap(({ env, sha256 }, index) => {
    if (sha256 !== undefined) return [Uint8Array.from(Buffer.from(sha256, 'hex'))]
    const value = readVariable(env!, `${path}[${index}].env`, environment, problems)
    if (value === null) return []
    if (isKey(value)) return [keyDigest(value)]
    problems.push(problem(`${path}[${index}].env`, KEY, `something else in ${env}`))
    return []
  })
}

/** The variable's value, or null and a problem that names it. */
export function readVariable(
  name: string,
  path: string,
  environment: Environment,
  problems: ConfigProblem[],
): string | null {
  const value = environment[name]
  if (value !== undefined && value !== '') return value
  problems.push(problem(path, `environment variable ${name} to be set`, value === '' ? 'an empty one' : 'none'))
  return null
}

const VARIABLE = 'BULKHEAD_KEYS'

/** Tenants of `BULKHEAD_KEYS="a=KEY1,b=KEY2"`. */
export function tenantsFromEnvironment(environment: Environment, problems: ConfigProblem[]): TenantConfig[] {
  const text = environment[VARIABLE]
  if (text === undefined || text.trim() === '') return []
  return text.split(',').flatMap((entry, index) => {
    const [, id, key] = /^\s*([A-Za-z0-9._-]{1,64})=(.*?)\s*$/.exec(entry) ?? []
    if (id !== undefined && key !== undefined && isKey(key)) return [{ id, keys: [keyDigest(key)], limits: null }]
    problems.push(problem(VARIABLE, `TENANT=KEY, ${KEY}`, `something else in entry ${index + 1}`))
    return []
  })
}

function isKey(value: string): boolean {
  return value.length <= LONGEST && /^[\x21-\x7e]+$/.test(value)
}
