import type { ChatMessage } from '../../text/index.ts'
import { fault, field, missing, wellFormed, wrongType } from './fields.ts'
import { isObject, type JsonObject } from './json.ts'

/** Rendering costs time for every message, however short; more than this never came from a conversation. */
const maxMessages = 16_384

const roles: ReadonlySet<string> = new Set<ChatMessage['role']>(['system', 'developer', 'user', 'assistant', 'tool'])
const isRole = (value: string): value is ChatMessage['role'] => roles.has(value)

const readPart = (part: unknown, param: string): string => {
  if (!isObject(part)) throw wrongType(param, 'an object', part)
  const type = field(part, 'type')
  if (type === null) throw missing(`${param}.type`)
  if (type !== 'text') {
    throw fault(
      'unsupported_value',
      `${param}.type`,
      `Unsupported content part at '${param}': only parts of type 'text' are supported.`,
    )
  }
  const text = field(part, 'text')
  if (text === null) throw missing(`${param}.text`)
  if (typeof text !== 'string') throw wrongType(`${param}.text`, 'a string', text)
  return text
}

const readContent = (message: JsonObject, param: string): string => {
  const content = field(message, 'content')
  if (content === null) throw missing(`${param}.content`)
  if (typeof content === 'string') return wellFormed(content)
  if (!Array.isArray(content)) throw wrongType(`${param}.content`, 'a string or an array of content parts', content)
  if (content.length === 0) {
    throw fault(
      'invalid_value',
      `${param}.content`,
      `Invalid value for '${param}.content': must not be an empty array.`,
    )
  }
  return wellFormed(content.map((part, i) => readPart(part, `${param}.content[${i}]`)).join(''))
}

const refuseTools = (message: JsonObject, param: string): void => {
  for (const name of ['tool_calls', 'function_call', 'audio']) {
    const value = field(message, name)
    if (value === null || (Array.isArray(value) && value.length === 0)) continue
    throw fault(
      'unsupported_parameter',
      `${param}.${name}`,
      `Unsupported parameter: '${param}.${name}' is not implemented.`,
    )
  }
}

const readMessage = (message: unknown, param: string): ChatMessage => {
  if (!isObject(message)) throw wrongType(param, 'an object', message)
  const role = field(message, 'role')
  if (role === null) throw missing(`${param}.role`)
  if (typeof role !== 'string') throw wrongType(`${param}.role`, 'a string', role)
  if (!isRole(role)) {
    throw fault(
      'invalid_value',
      `${param}.role`,
      `Invalid value for '${param}.role': supported values are ${[...roles].map((name) => `'${name}'`).join(', ')}.`,
    )
  }
  refuseTools(message, param)
  const name = field(message, 'name')
  if (name !== null && typeof name !== 'string') throw wrongType(`${param}.name`, 'a string', name)
  const content = readContent(message, param)
  return name === null ? { role, content } : { role, content, name: wellFormed(name) }
}

/** `messages` of a chat request: at least one, every content as one text. Throws GatewayError with the path of the fault. */
export const readMessages = (body: JsonObject): readonly ChatMessage[] => {
  const messages = field(body, 'messages')
  if (messages === null) throw missing('messages')
  if (!Array.isArray(messages)) throw wrongType('messages', 'an array of messages', messages)
  if (messages.length === 0)
    throw fault('invalid_value', 'messages', "Invalid value for 'messages': must not be an empty array.")
  if (messages.length > maxMessages) {
    throw fault(
      'invalid_value',
      'messages',
      `Invalid value for 'messages': at most ${maxMessages} messages are supported.`,
    )
  }
  return messages.map((message, i) => readMessage(message, `messages[${i}]`))
}
