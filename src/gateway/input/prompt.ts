import { fault, field, missing, wellFormed, wrongType } from './fields.ts'
import type { JsonObject } from './json.ts'

/**
 * `prompt` of a completions request as one text: a string, or an array of one string. Token ids are refused: they would pass
 * by the text that is counted and, in other servers, checked. Throws GatewayError.
 */
export const readPrompt = (body: JsonObject): string => {
  const prompt = field(body, 'prompt')
  if (prompt === null) throw missing('prompt')
  if (typeof prompt === 'string') return wellFormed(prompt)
  if (!Array.isArray(prompt)) throw wrongType('prompt', 'a string or an array of one string', prompt)
  if (prompt.length === 0)
    throw fault('invalid_value', 'prompt', "Invalid value for 'prompt': must not be an empty array.")
  const first: unknown = prompt[0]
  if (typeof first === 'number' || Array.isArray(first)) {
    throw fault('unsupported_value', 'prompt', "Unsupported value for 'prompt': token ids are refused; send text.")
  }
  if (typeof first !== 'string') throw wrongType('prompt[0]', 'a string', first)
  if (prompt.length > 1) {
    throw fault(
      'unsupported_value',
      'prompt',
      `Unsupported value for 'prompt': one prompt per request, got ${prompt.length}.`,
    )
  }
  return wellFormed(first)
}
