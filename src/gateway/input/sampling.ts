import {
  fault,
  field,
  optionalBoolean,
  optionalInteger,
  optionalNumber,
  optionalObject,
  wellFormed,
  wrongType,
} from './fields.ts'
import type { JsonObject } from './json.ts'
import type { GenerationRequest, Surface } from './types.ts'

export const maxChoices = 8
export const maxStops = 4
/** A longer stop string would make the gateway withhold that much text. */
const maxStopLength = 1024
const maxTopLogprobs = 20
/** Above any window there will be, below where sums of token counts stop being exact. */
const hugeOutput = 2 ** 40

const readModel = (body: JsonObject): string => {
  const model = field(body, 'model')
  if (model === null) throw fault('missing_required_parameter', 'model', 'You must provide a model parameter.')
  if (typeof model !== 'string') throw wrongType('model', 'a string', model)
  if (model === '') throw fault('invalid_value', 'model', "Invalid value for 'model': must not be empty.")
  return model
}

const readMaxOutput = (body: JsonObject): number | null => {
  const range = { min: 1, max: Number.MAX_VALUE }
  const old = optionalInteger(body, 'max_tokens', range)
  const current = optionalInteger(body, 'max_completion_tokens', range)
  if (old !== null && current !== null) {
    throw fault(
      'invalid_parameter_combination',
      'max_tokens',
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    )
  }
  const asked = current ?? old
  return asked === null ? null : Math.min(asked, hugeOutput)
}

const readStop = (body: JsonObject): readonly string[] => {
  const value = field(body, 'stop')
  if (value === null) return []
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > maxStops) {
    throw fault('invalid_value', 'stop', `Invalid value for 'stop': at most ${maxStops} stop sequences are supported.`)
  }
  return list.map((item, i) => {
    const param = Array.isArray(value) ? `stop[${i}]` : 'stop'
    if (typeof item !== 'string') throw wrongType(param, 'a string', item)
    if (item === '') throw fault('invalid_value', param, `Invalid value for '${param}': must not be empty.`)
    if (item.length > maxStopLength) {
      throw fault('invalid_value', param, `Invalid value for '${param}': must be at most ${maxStopLength} characters.`)
    }
    return wellFormed(item)
  })
}

const chatLogprobs = (body: JsonObject): number | null => {
  const wanted = optionalBoolean(body, 'logprobs')
  const top = optionalInteger(body, 'top_logprobs', { min: 0, max: maxTopLogprobs })
  if (wanted === true) return top ?? 0
  if (top !== null && top > 0) {
    throw fault('invalid_parameter_combination', 'top_logprobs', "'top_logprobs' needs 'logprobs' set to true.")
  }
  return null
}

const completionLogprobs = (body: JsonObject): number | null =>
  optionalInteger(body, 'logprobs', { min: 0, max: maxTopLogprobs })

const readTopK = (body: JsonObject): number => {
  const value = optionalInteger(body, 'top_k', { min: -1, max: 2 ** 31 - 1 })
  // vLLM and SGLang write "no limit" as -1.
  return value === null || value === -1 ? 0 : value
}

const readSeed = (body: JsonObject): number | null => {
  const value = optionalInteger(body, 'seed', { min: -(2 ** 63), max: 2 ** 64 })
  if (value === null) return null
  const folded = value % 2 ** 32
  return folded < 0 ? folded + 2 ** 32 : folded
}

const readBestOf = (body: JsonObject, n: number): void => {
  const bestOf = optionalInteger(body, 'best_of', { min: 1, max: maxChoices })
  if (bestOf !== null && bestOf !== n) {
    throw fault(
      'unsupported_parameter',
      'best_of',
      "Unsupported parameter: 'best_of' other than 'n' is not implemented.",
    )
  }
}

/** The fields that both endpoints share. Throws GatewayError naming the first one that is wrong. */
export const readSampling = (body: JsonObject, surface: Surface): GenerationRequest => {
  const model = readModel(body)
  const n = optionalInteger(body, 'n', { min: 1, max: maxChoices }) ?? 1
  readBestOf(body, n)
  const options = optionalObject(body, 'stream_options')
  const includeUsage =
    options === null ? null : optionalBoolean(options, 'include_usage', 'stream_options.include_usage')
  return {
    surface,
    model,
    maxOutput: readMaxOutput(body),
    n,
    stream: optionalBoolean(body, 'stream') ?? false,
    includeUsage: includeUsage ?? false,
    stop: readStop(body),
    temperature: optionalNumber(body, 'temperature', { min: 0, max: 2 }) ?? 1,
    topP: optionalNumber(body, 'top_p', { min: 0, max: 1 }) ?? 1,
    topK: readTopK(body),
    seed: readSeed(body),
    topLogprobs: surface === 'chat' ? chatLogprobs(body) : completionLogprobs(body),
  }
}
