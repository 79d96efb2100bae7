import { type GatewayCode, GatewayError } from '../errors.ts'
import { isObject, type JsonObject } from './json.ts'

/** An own property's value; absent and null are the same to OpenAI's API. Nothing inherited is ever read. */
export const field = (body: JsonObject, name: string): unknown =>
  Object.hasOwn(body, name) ? (body[name] ?? null) : null

export const fault = (code: GatewayCode, param: string, message: string): GatewayError =>
  new GatewayError({ code, param, message })

const nameOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  return `a ${typeof value}`
}

/** Says what was expected and which kind came, never the value itself. */
export const wrongType = (param: string, expected: string, value: unknown): GatewayError =>
  fault('invalid_type', param, `Invalid type for '${param}': expected ${expected}, but got ${nameOf(value)} instead.`)

export const missing = (param: string): GatewayError =>
  fault('missing_required_parameter', param, `Missing required parameter: '${param}'.`)

interface Range {
  readonly min: number
  /** `Number.MAX_VALUE`: no bound but that of finite numbers. */
  readonly max: number
}

const outside = (param: string, { min, max }: Range): GatewayError => {
  const range = max === Number.MAX_VALUE ? `at least ${min}` : `between ${min} and ${max}`
  return fault('invalid_value', param, `Invalid value for '${param}': must be ${range}.`)
}

/** A finite number in range, or null when absent. */
export const optionalNumber = (body: JsonObject, name: string, range: Range): number | null => {
  const value = field(body, name)
  if (value === null) return null
  if (typeof value !== 'number') throw wrongType(name, 'a number', value)
  // Written so that NaN and infinities (1e999 parses as one) fail it too.
  if (!(value >= range.min && value <= range.max)) throw outside(name, range)
  return value
}

/** A whole number in range, or null when absent. */
export const optionalInteger = (body: JsonObject, name: string, range: Range): number | null => {
  const value = field(body, name)
  if (value === null) return null
  if (typeof value !== 'number') throw wrongType(name, 'an integer', value)
  if (!Number.isInteger(value)) throw fault('invalid_type', name, `Invalid type for '${name}': expected an integer.`)
  if (!(value >= range.min && value <= range.max)) throw outside(name, range)
  return value
}

export const optionalBoolean = (body: JsonObject, name: string, param = name): boolean | null => {
  const value = field(body, name)
  if (value === null || typeof value === 'boolean') return value
  throw wrongType(param, 'a boolean', value)
}

export const optionalObject = (body: JsonObject, name: string): JsonObject | null => {
  const value = field(body, name)
  if (value === null || isObject(value)) return value
  throw wrongType(name, 'an object', value)
}

/** UTF-16 that stands for no character becomes U+FFFD, as every encoder to UTF-8 would make it. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd')
