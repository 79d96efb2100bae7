import { GatewayError } from '../errors.ts'

/** Deeper than any request a client library makes, shallow enough that nothing which walks the value can overflow a stack. */
export const maxDepth = 64

const quote = 0x22
const backslash = 0x5c

/** Nesting of brackets and braces outside strings; stops counting once it passes `limit`. */
const exceedsDepth = (bytes: Uint8Array, limit: number): boolean => {
  let depth = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === backslash) i++
      else if (byte === quote) inString = false
    } else if (byte === quote) inString = true
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > limit) return true
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return false
}

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Bytes to the one JSON object a body must be. Throws GatewayError `invalid_json` for empty bodies, bytes that are not UTF-8,
 * text that is not JSON, and nesting beyond `maxDepth`; `invalid_type` for JSON that is not an object. What was sent is not
 * repeated in the message.
 */
export const parseBody = (bytes: Uint8Array): JsonObject => {
  if (bytes.length === 0) throw invalid('The request has no body; a JSON object is needed.')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw invalid('The request body is not valid UTF-8.', cause)
  }
  if (exceedsDepth(bytes, maxDepth)) throw invalid(`The request body is nested more than ${maxDepth} levels deep.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // V8's message quotes the text around the fault, which may be a prompt: it is not kept as a cause.
    throw invalid('We could not parse the JSON body of your request.')
  }
  if (isObject(value)) return value
  throw new GatewayError({ code: 'invalid_type', message: 'The request body must be a JSON object.' })
}

const invalid = (message: string, cause?: unknown): GatewayError =>
  new GatewayError({ code: 'invalid_json', message, cause })
