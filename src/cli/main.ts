import { readFileSync } from 'node:fs'
import { type ExitCode, helpOf, parseWords, UsageError } from './command.ts'
import { findCommand, groupHelp, isHelp, noSuchCommand, overview } from './find.ts'

/** A file's name, or a word out of a file, is not to drive the terminal that shows it. */
const STEERING = /(?![\n\t])\p{Cc}/gu

async function main(words: readonly string[]): Promise<ExitCode> {
  const out = (text: string): void => void process.stdout.write(text)
  const err = (text: string): void => void process.stderr.write(text.replace(STEERING, '?'))
  if (words.length === 0 || isHelp(words[0]) || words[0] === 'help') {
    out(overview())
    return words.length === 0 ? 2 : 0
  }
  if (words[0] === '--version') {
    out(`${version()}\n`)
    return 0
  }
  const found = findCommand(words)
  if (found === null) {
    const help = words.some(isHelp) ? groupHelp(words) : null
    if (help === null) err(`bulkhead: ${noSuchCommand(words)}\n`)
    else out(help)
    return help === null ? 2 : 0
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
