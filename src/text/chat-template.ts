import { oneLine } from '../telemetry/index.ts'
import { BoundedInterpreter, type Budget, boundedRange } from './bounded-interpreter.ts'
import { TextError } from './errors.ts'
import { createEnvironment, type JinjaNode, parseJinja } from './jinja.ts'
import { strftime } from './strftime.ts'
import { mapCosts } from './template-cost.ts'
import type { ChatMessage, ChatTemplate } from './types.ts'

export interface ChatTemplateOptions {
  readonly bosToken: string
  readonly eosToken: string
  /** Milliseconds since 1970, for templates that write the date; without it they see no `strftime_now` and know no clock. */
  readonly wall?: () => number
}

/** Real templates stay far below. */
const LONGEST_SOURCE = 256 * 1024
/** The lexer goes over a run of white space once for each of its characters. */
const LONGEST_BLANK = 1_000

/**
 * Compiles a Jinja chat template. Rendering is a function of the messages and runs under a budget that grows with
 * their length. Throws TextError `template_invalid`; `render` throws `template_failed` where the template refuses the
 * messages or breaks, and `template_too_costly` where it does not end.
 */
export function createChatTemplate(source: string, options: ChatTemplateOptions): ChatTemplate {
  return compileTemplate(source, options, requestBudget)
}

/** @param explain add the interpreter's words to an error: only where the messages are no client's */
export function compileTemplate(
  source: string,
  options: ChatTemplateOptions,
  budgetFor: (messages: readonly ChatMessage[]) => Budget,
  explain = false,
): ChatTemplate {
  const program = parseTemplate(source)
  const costs = mapCosts(program)
  const knowsDeveloper = source.includes('developer')
  return {
    render: (messages) => {
      const budget = budgetFor(messages)
      const environment = createEnvironment()
      for (const [name, value] of Object.entries(variables(messages, options, knowsDeveloper))) {
        environment.set(name, value)
      }
      environment.set('range', boundedRange(budget.values))
      environment.set('raise_exception', (message: unknown) => {
        throw new Refusal(String(message))
      })
      const { wall } = options
      if (wall !== undefined) environment.set('strftime_now', (format: unknown) => strftime(wall(), String(format)))
      try {
        return String(new BoundedInterpreter(environment, costs, budget).run(program).value)
      } catch (error) {
        throw renderError(error, source, explain)
      }
    },
  }
}

/** A template that says no, by `raise_exception`. */
class Refusal extends Error {}

function requestBudget(messages: readonly ChatMessage[]): Budget {
  const units = messages.reduce((sum, { content }) => sum + content.length, 0)
  return {
    steps: 1_000_000 + 2_000 * messages.length + 4 * units,
    text: 1_000_000 + 4 * units,
    values: 100_000 + 16 * messages.length,
  }
}

function variables(
  messages: readonly ChatMessage[],
  { bosToken, eosToken }: ChatTemplateOptions,
  knowsDeveloper: boolean,
): Record<string, unknown> {
  return {
    messages: messages.map(({ role, content, name }) => ({
      // OpenAI's developer messages are its newer system messages; a template that never heard of them gets the old name
      role: role === 'developer' && !knowsDeveloper ? 'system' : role,
      content,
      ...(name === undefined ? {} : { name }),
    })),
    add_generation_prompt: true,
    bos_token: bosToken,
    eos_token: eosToken,
    tools: null,
    documents: null,
    true: true,
    false: false,
    none: null,
    True: true,
    False: false,
    None: null,
  }
}

function parseTemplate(source: string): JinjaNode {
  if (source.length > LONGEST_SOURCE) {
    throw invalid(`the chat template is longer than ${LONGEST_SOURCE} characters`)
  }
  if (new RegExp(`\\s{${LONGEST_BLANK}}`).test(source)) {
    throw invalid(`the chat template has ${LONGEST_BLANK} white-space characters in a row`)
  }
  try {
    return parseJinja(source)
  } catch (error) {
    throw invalid(`the chat template cannot be parsed: ${oneLine(messageOf(error))}`)
  }
}

function renderError(error: unknown, source: string, explain: boolean): TextError {
  if (error instanceof TextError) return error
  const text = messageOf(error)
  if (error instanceof Refusal) {
    // only a text that stands in the template is passed on: one put together at run time may quote a prompt
    const reason = text.length > 0 && source.includes(text) ? `: ${oneLine(text)}` : ''
    return new TextError({ code: 'template_failed', message: `the chat template refuses these messages${reason}` })
  }
  if (error instanceof RangeError) {
    return new TextError({ code: 'template_too_costly', message: 'the chat template nests or grows too far' })
  }
  const why = explain ? `: ${oneLine(text)}` : ''
  return new TextError({ code: 'template_failed', message: `the chat template fails on these messages${why}` })
}

function invalid(message: string): TextError {
  return new TextError({ code: 'template_invalid', message })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'unknown error'
}
