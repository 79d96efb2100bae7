import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja'

/** The parts of the template library used here, typed: its own declarations do not resolve under Node's module rules. */
export interface JinjaNode {
  readonly type: string
}

export interface JinjaValue {
  readonly value: unknown
}

export interface JinjaEnvironment {
  set(name: string, value: unknown): void
}

export interface JinjaInterpreter {
  run(program: JinjaNode): JinjaValue
  evaluate(node: JinjaNode | undefined, environment: JinjaEnvironment): JinjaValue
}

export const InterpreterBase = Interpreter as unknown as new (environment: JinjaEnvironment) => JinjaInterpreter

export function createEnvironment(): JinjaEnvironment {
  return new Environment() as JinjaEnvironment
}

/** Parses with the white-space rules of chat templates. Throws the library's SyntaxError, or RangeError if nested too deep. */
export function parseJinja(source: string): JinjaNode {
  return parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true })) as JinjaNode
}
