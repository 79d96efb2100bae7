import type { Command } from './command.ts'
import { COMMANDS } from './commands.ts'
import { nearest } from './config/index.ts'

/** Finds the command whose name is the longest prefix of the words: `lab sim` before `lab`. */
export function findCommand(
  words: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } | null {
  for (const length of [2, 1]) {
    const command = COMMANDS.find((candidate) => candidate.name === words.slice(0, length).join(' '))
    if (command !== undefined) return { command, rest: words.slice(length) }
  }
  return null
}

export function overview(): string {
  return [
    'usage: bulkhead COMMAND [options]',
    '',
    'A language-model server that makes sure no tenant reads another tenant\u2019s KV cache.',
    '',
    'commands:',
    ...tableOf(COMMANDS),
    '',
    'Every command has --help with examples. Exit: 0 clean, 1 findings, 2 usage or tool error, 3 inconclusive.',
    '',
  ].join('\n')
}

/** The commands of a group such as `lab`, or null where there is no such group. */
export function groupHelp(words: readonly string[]): string | null {
  const group = groupOf(words)
  return group.length === 0 ? null : ['commands:', ...tableOf(group), ''].join('\n')
}

/** What is wrong with words that `findCommand` finds nothing for, in one line. */
export function noSuchCommand(words: readonly string[]): string {
  const [first = '', second] = words
  const group = groupOf(words)
  if (group.length === 0) return `${unknown(first)} (see: bulkhead --help)`
  const below = group.map(({ name }) => name.slice(first.length + 1)).join(', ')
  const problem = second === undefined ? `${first} needs one of: ${below}` : unknown(`${first} ${second}`)
  return `${problem} (see: bulkhead ${first} --help)`
}

export function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h'
}

function groupOf(words: readonly string[]): readonly Command[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `))
}

function unknown(wrong: string): string {
  const near = nearest(
    wrong,
    COMMANDS.map(({ name }) => name),
  )
  return `no command ${JSON.stringify(wrong)}${near === null ? '' : `; did you mean ${near}?`}`
}

function tableOf(commands: readonly Command[]): readonly string[] {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
}
