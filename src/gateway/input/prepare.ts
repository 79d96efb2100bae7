import type { ChatMessage, Encoded } from '../../text/index.ts'
import { type ErrorBody, errorBody, GatewayError, placeOf } from '../errors.ts'
import { fault, field, missing } from './fields.ts'
import { isObject, type JsonObject, parseBody } from './json.ts'
import { readMessages } from './messages.ts'
import { readPrompt } from './prompt.ts'
import { refuseSteering, refuseUnimplemented } from './refused.ts'
import { readSampling } from './sampling.ts'
import type { Prepared, PrepareJob, PromptModel } from './types.ts'

type Prompt =
  | { readonly kind: 'chat'; readonly messages: readonly ChatMessage[] }
  | { readonly kind: 'text'; readonly text: string }

/** /tokenize counts a little beyond what fits, so that a client can see by how much a prompt is too long. */
const tokenizeFactor = 4

/**
 * Decodes, parses, checks and counts one body: everything between the bytes and the verdict. Pure and synchronous, so it runs on
 * the event loop for small bodies and on another thread for large ones with the same result. Never throws: a bad request is an
 * `error`, and so is a fault of ours (`internal`, which names no part of the body).
 */
export const prepare = (job: PrepareJob, models: ReadonlyMap<string, PromptModel>): Prepared => {
  let model: string | null = null
  try {
    const body = parseBody(job.body)
    refuseSteering(body)
    refuseUnimplemented(body)
    if (job.surface === 'tokenize') {
      const found = findModel(models, readTokenizeModel(body))
      model = found.id
      const encoded = encode(found, readTokenizePrompt(body), found.encodeLimit * tokenizeFactor)
      return { kind: 'tokens', model, ids: encoded.ids, complete: encoded.complete }
    }
    const request = readSampling(body, job.surface)
    const prompt: Prompt =
      job.surface === 'chat' ? { kind: 'chat', messages: readMessages(body) } : { kind: 'text', text: readPrompt(body) }
    const found = findModel(models, request.model)
    model = found.id
    const { ids, complete } = encode(found, prompt, found.encodeLimit)
    if (ids.length === 0) {
      const param = prompt.kind === 'chat' ? 'messages' : 'prompt'
      throw fault('invalid_value', param, `Invalid value for '${param}': it holds no token.`)
    }
    return { kind: 'generation', request, ids, complete }
  } catch (error) {
    return { kind: 'error', model, error: describe(error), at: error instanceof GatewayError ? null : placeOf(error) }
  }
}

const findModel = (models: ReadonlyMap<string, PromptModel>, id: string): PromptModel => {
  const found = models.get(id)
  if (found) return found
  throw fault('model_not_found', 'model', modelNotFoundMessage(id))
}

/** Shared with `GET /v1/models/{id}`. The id is the client's own word, cut and stripped of what a terminal would act on. */
export const modelNotFoundMessage = (id: string): string => {
  const shown = id.slice(0, 100).replace(/[^\x20-\x7e]/g, '?')
  return `The model '${shown}' does not exist or you do not have access to it.`
}

const encode = (model: PromptModel, prompt: Prompt, limit: number): Encoded => {
  if (prompt.kind === 'text') return model.encodeText(prompt.text, limit)
  if (model.encodeChat === null) {
    throw fault('unsupported_value', 'model', 'This model has no chat template; use /v1/completions.')
  }
  try {
    return model.encodeChat(prompt.messages, limit)
  } catch (cause) {
    if (isObject(cause) && (cause.code === 'template_failed' || cause.code === 'template_too_costly')) {
      throw fault(
        'invalid_value',
        'messages',
        "Invalid value for 'messages': the model's chat template does not accept this conversation.",
      )
    }
    throw cause
  }
}

const readTokenizeModel = (body: JsonObject): string => {
  const model = field(body, 'model')
  if (typeof model === 'string') return model
  throw model === null
    ? missing('model')
    : fault('invalid_type', 'model', "Invalid type for 'model': expected a string.")
}

const readTokenizePrompt = (body: JsonObject): Prompt => {
  const hasMessages = field(body, 'messages') !== null
  if (hasMessages && field(body, 'prompt') !== null) {
    throw fault('invalid_parameter_combination', 'prompt', "Send either 'prompt' or 'messages', not both.")
  }
  return hasMessages ? { kind: 'chat', messages: readMessages(body) } : { kind: 'text', text: readPrompt(body) }
}

const describe = (error: unknown): ErrorBody =>
  error instanceof GatewayError
    ? error.body
    : errorBody({ code: 'internal', message: 'The server could not read this request.' })
