import { parseArgs } from 'node:util'
import { nearest } from './config/index.ts'

/** 0 clean, 1 findings (a refused `serve` too), 2 usage or tool error, 3 inconclusive. */
export type ExitCode = 0 | 1 | 2 | 3

export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  /** What stands after the flag in the help, e.g. `FILE`; absent for switches. */
  readonly value?: string
  readonly help: string
}

export interface Command {
  /** As typed, e.g. `lab sim`. */
  readonly name: string
  readonly summary: string
  /** What stands after the name and the options in the usage line, e.g. `FILE`. */
  readonly operands?: string
  readonly options: Readonly<Record<string, OptionSpec>>
  readonly examples: readonly string[]
  run(input: CommandInput): Promise<ExitCode>
}

export interface CommandInput {
  readonly operands: readonly string[]
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Results. */
  readonly out: (text: string) => void
  /** Progress, problems. */
  readonly err: (text: string) => void
}

/** A wrong call: its message is one line that says what was expected; exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function helpOf(command: Command): string {
  const flags = Object.entries({
    ...command.options,
    help: { type: 'boolean', help: 'show this' } satisfies OptionSpec,
  })
  const width = Math.max(...flags.map(([name, spec]) => labelOf(name, spec).length))
  return [
    `usage: bulkhead ${command.name}${command.operands === undefined ? '' : ` ${command.operands}`} [options]`,
    '',
    command.summary,
    '',
    'options:',
    ...flags.map(([name, spec]) => `  ${labelOf(name, spec).padEnd(width)}  ${spec.help}`),
    '',
    'examples:',
    ...command.examples.map((example) => `  ${example}`),
    '',
  ].join('\n')
}

function labelOf(name: string, spec: OptionSpec): string {
  return spec.value === undefined ? `--${name}` : `--${name} ${spec.value}`
}

/** Reads the words after the command's name. Unknown flags and flags without their value are a UsageError. */
export function parseWords(command: Command, words: readonly string[]): Pick<CommandInput, 'operands' | 'flags'> {
  try {
    const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {
      help: { type: 'boolean', short: 'h' },
    }
    for (const [name, spec] of Object.entries(command.options)) options[name] = { type: spec.type }
    const parsed = parseArgs({ args: [...words], options, allowPositionals: true, strict: true })
    return { operands: parsed.positionals, flags: parsed.values as Record<string, string | boolean | undefined> }
  } catch (error) {
    throw new UsageError(`${optionProblem(command, words, error)} (see: bulkhead ${command.name} --help)`)
  }
}

/** In the words of the other messages: Node's own speak of how to pass odd operands, and of ambiguity. */
function optionProblem(command: Command, words: readonly string[], error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    const option = /--[\w-]+/.exec(message)?.[0] ?? 'an option'
    if (message.includes('does not take')) return `${option} takes no value`
    const value = command.options[option.slice(2)]?.value ?? 'a value'
    return `${option} needs ${value}${message.includes('ambiguous') ? ', which does not begin with a dash' : ''}`
  }
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return message.split('\n')[0]!
  const names = [...Object.keys(command.options), 'help']
  const given = words.map((word) => word.split('=')[0]!)
  const wrong = given.find((word) => /^-./.test(word) && word !== '-h' && !names.includes(word.replace(/^--/, '')))
  if (wrong === undefined) return message.split('. ')[0]!
  const near = nearest(wrong.replace(/^-+/, ''), names)
  return `no option ${wrong}${near === null ? '' : `; did you mean --${near}?`}`
}

/** A whole number in a flag, within bounds; UsageError otherwise. */
export function wholeFlag(
  input: CommandInput,
  name: string,
  bounds: { readonly min: number; readonly max: number; readonly absent: number },
): number {
  const given = input.flags[name]
  if (given === undefined) return bounds.absent
  const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : Number.NaN
  if (value >= bounds.min && value <= bounds.max) return value
  throw new UsageError(
    `--${name}: expected a whole number from ${bounds.min} to ${bounds.max}, received ${JSON.stringify(given)}`,
  )
}

/** One of a few words in a flag; UsageError otherwise. The first is what counts where it is absent. */
export function choiceFlag<Choice extends string>(
  input: CommandInput,
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  const given = input.flags[name] ?? choices[0]
  const chosen = choices.find((choice) => choice === given)
  if (chosen !== undefined) return chosen
  throw new UsageError(`--${name}: expected ${choices.join(', ')}, received ${JSON.stringify(given)}`)
}

/** The one operand of a command that takes exactly one. */
export function onlyOperand(command: Command, input: CommandInput): string {
  const [first, ...more] = input.operands
  if (first !== undefined && more.length === 0) return first
  throw new UsageError(
    `${command.name} takes exactly one ${command.operands ?? 'operand'}, received ${input.operands.length}`,
  )
}

/** No operands at all. */
export function noOperands(command: Command, input: CommandInput): void {
  if (input.operands.length > 0)
    throw new UsageError(`${command.name} takes no operand, received ${JSON.stringify(input.operands[0])}`)
}
