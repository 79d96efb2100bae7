import type { z } from 'zod'
import { nearest } from './nearest.ts'
import { isKeyToCome, isValueToCome } from './not-yet.ts'
import { configJsonSchema } from './schema.ts'
import type { ConfigProblem } from './types.ts'

type Path = readonly PropertyKey[]

/** What zod found, in the words of the file. `data` is the file's content, to say what stands there. */
export function problemsOf(issues: readonly z.core.$ZodIssue[], data: unknown): ConfigProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(issue.path, key))
    return [wrongValue(issue.path, issue.message, data)]
  })
}

export function problem(path: string, expected: string, received: string): ConfigProblem {
  return { path, expected, received, message: `${path}: expected ${expected}, got ${received}` }
}

/** `models[0].engine.prefill_pool` */
export function pathText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}

function unknownKey(parent: Path, key: string): ConfigProblem {
  const at = pathText(parent)
  const path = pathText([...parent, key])
  if (isKeyToCome(at, key)) return toCome(path, 'no such key', 'a key')
  const names = keysAt(parent)
  const near = nearest(key, names)
  const hint = near === null ? `one of ${names.join(', ')}` : near
  return {
    path,
    expected: hint,
    received: 'an unknown key',
    message:
      near === null
        ? `${path}: unknown key; known here: ${names.join(', ')}`
        : `${path}: unknown key; did you mean ${near}?`,
  }
}

function wrongValue(path: Path, expected: string, data: unknown): ConfigProblem {
  const at = pathText(path)
  const value = valueAt(data, path)
  const received = describe(value, path)
  if (isValueToCome(at, value)) return toCome(at, expected, received)
  return problem(at === '' ? 'the file' : at, expected, received)
}

function toCome(path: string, expected: string, received: string): ConfigProblem {
  return {
    path,
    expected,
    received,
    message: `${path}: not in this version${received === 'a key' ? '' : ` (${received})`}`,
  }
}

function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, part) => {
    return typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined
  }, data)
}

/** What stands in the file; texts are quoted only where no key or secret can stand. */
function describe(value: unknown, path: Path): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (path.some((part) => part === 'keys' || part === 'secret' || part === 'admin')) return `a ${typeof value}`
  if (typeof value === 'string')
    return value.length <= 40 ? JSON.stringify(value) : `a text of ${value.length} characters`
  return String(value)
}

/** Names of the keys that may stand at a place, from the published schema. */
function keysAt(path: Path): string[] {
  let node: unknown = configJsonSchema()
  for (const part of path) node = member(node, typeof part === 'number' ? ['items'] : ['properties', String(part)])
  const properties = member(node, ['properties'])
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

function member(node: unknown, names: readonly string[]): unknown {
  return valueAt(node, names)
}
