import type { Budget } from './bounded-interpreter.ts'
import { type ChatTemplateOptions, compileTemplate, createChatTemplate } from './chat-template.ts'
import { TextError, type TextErrorCode } from './errors.ts'
import type { ChatMessage, ChatTemplate } from './types.ts'

export interface TrialOptions extends ChatTemplateOptions {
  /** Milliseconds of some clock; with it, `deadline` (default 2,000 ms for the whole trial) holds beside the budget. */
  readonly now?: () => number
  readonly deadline?: number
}

export type TrialResult =
  | { readonly kind: 'ok'; readonly template: ChatTemplate }
  | { readonly kind: 'refused'; readonly code: TextErrorCode; readonly message: string }

const QUESTION = 'What does a bulkhead do?'
const question: ChatMessage = { role: 'user', content: QUESTION }
const PROMPTS: readonly (readonly ChatMessage[])[] = [
  [question],
  [{ role: 'system', content: 'Answer in one sentence.' }, question],
  [question, { role: 'assistant', content: 'It keeps one flood from becoming all floods.' }, question],
]

/**
 * Tries a model file's template on canned prompts before anything listens. It must render a user's question and keep
 * its words; refusing a system message is its right, running without end is not. The interpreter itself is bounded
 * (see `BoundedInterpreter`), so this returns on any input: no worker is needed to hold a looping template.
 */
export function trialTemplate(source: string, options: TrialOptions): TrialResult {
  const { now, deadline = 2_000 } = options
  const started = now?.() ?? 0
  const expired = (): boolean => now !== undefined && now() - started > deadline
  const budget: Budget = { steps: 200_000, text: 262_144, values: 16_384, expired }
  try {
    const tried = compileTemplate(source, options, () => budget, true)
    for (const [index, messages] of PROMPTS.entries()) {
      const text = attempt(tried, messages, index > 0)
      if (text !== null && !text.includes(QUESTION)) {
        return refused('template_invalid', "the chat template leaves out the user's message")
      }
      if (expired()) return refused('template_too_costly', 'the chat template ran past its deadline')
    }
    return { kind: 'ok', template: createChatTemplate(source, options) }
  } catch (error) {
    if (error instanceof TextError) return refused(error.code, error.message)
    throw error
  }
}

/** Null where the template refuses a prompt that it may refuse. */
function attempt(template: ChatTemplate, messages: readonly ChatMessage[], mayRefuse: boolean): string | null {
  try {
    return template.render(messages)
  } catch (error) {
    if (mayRefuse && error instanceof TextError && error.code === 'template_failed') return null
    throw error
  }
}

function refused(code: TextErrorCode, message: string): TrialResult {
  return { kind: 'refused', code, message }
}
