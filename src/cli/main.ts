import { readFileSync } from 'node:fs'
import { type Command, type ExitCode, helpOf, parseWords, UsageError } from './command.ts'
import { COMMANDS } from './commands.ts'

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
  const width = Math.max(...COMMANDS.map((command) => command.name.length))
  return [
    'usage: bulkhead COMMAND [options]',
    '',
    'A language-model server that proves no tenant reads another tenant\u2019s KV cache.',
    '',
    'commands:',
    ...COMMANDS.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`),
    '',
    'Every command has --help with examples. Exit: 0 clean, 1 findings, 2 usage or tool error, 3 inconclusive.',
    '',
  ].join('\n')
}

async function main(words: readonly string[]): Promise<ExitCode> {
  const out = (text: string): void => void process.stdout.write(text)
  const err = (text: string): void => void process.stderr.write(text)
  if (words.length === 0 || words[0] === '--help' || words[0] === 'help') {
    out(overview())
    return words.length === 0 ? 2 : 0
  }
  if (words[0] === '--version') {
    out(`${version()}\n`)
    return 0
  }
  const found = findCommand(words)
  if (found === null) {
    const below = COMMANDS.filter((command) => command.name.startsWith(`${words[0]} `))
    if (below.length > 0) {
      const asked = words.includes('--help')
      ;(asked ? out : err)(
        ['commands:', ...below.map((command) => `  bulkhead ${command.name}  ${command.summary}`), ''].join('\n'),
      )
      return asked ? 0 : 2
    }
    err(`bulkhead: no command ${JSON.stringify(words[0])}; "bulkhead --help" lists them\n`)
    return 2
  }
  try {
    const parsed = parseWords(found.command, found.rest)
    if (parsed.flags.help === true) {
      out(helpOf(found.command))
      return 0
    }
    return await found.command.run({ ...parsed, env: process.env, out, err })
  } catch (error) {
    if (error instanceof UsageError) err(`bulkhead: ${error.message}\n`)
    else
      err(
        `bulkhead ${found.command.name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
      )
    return 2
  }
}

function version(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
    .version
}

// a reader that goes away (`bulkhead … | head`) is no failure of ours
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 2))
process.exitCode = await main(process.argv.slice(2))
