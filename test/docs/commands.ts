/** Does a command line that a document shows exist, flags and all? */
import { type Command, parseWords } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { exists, readDocument } from './documents.ts'

/** What `npm run …` runs of our own commands, so that flags after `--` can be judged too. */
const BEHIND: Readonly<Record<string, string>> = { start: 'serve', leak: 'lab leak' }

/** A line that names one of our commands: `npm …`, `bulkhead …`, `bin/bulkhead.js …`, or a script of the repository. */
export const isCommand = (line: string): boolean =>
  /^(?:\w+="?\S+ )*(?:npm |bulkhead |bin\/|formal\/\S+\.sh)/.test(line)

/** Null if the line can be run; otherwise what is wrong with it. */
export function commandProblem(line: string): string | null {
  const words = line
    .replace(/\s#.*$/, '')
    .replace(/^(?:\w+=(?:"[^"]*"|\S*) )*/, '')
    .trim()
    .split(/\s+/)
  const [program = '', ...rest] = words
  if (program === 'npm') return npmProblem(rest)
  if (program === 'bulkhead') return ownProblem(rest)
  if (!exists(program)) return `there is no ${program}`
  return program === 'bin/bulkhead.js' ? ownProblem(rest) : null
}

function npmProblem(words: readonly string[]): string | null {
  const name = words[0] === 'run' ? words[1] : words[0]
  const scripts = (JSON.parse(readDocument('package.json')) as { scripts: Record<string, string> }).scripts
  if (name === undefined || !Object.hasOwn(scripts, name)) return `package.json has no script ${name}`
  const dashes = words.indexOf('--')
  const behind = BEHIND[name]
  return dashes < 0 || behind === undefined ? null : ownProblem([...behind.split(' '), ...words.slice(dashes + 1)])
}

function ownProblem(words: readonly string[]): string | null {
  if (words[0]?.startsWith('--')) return ['--help', '--version'].includes(words[0]) ? null : `no option ${words[0]}`
  const command = [2, 1].map((length) => named(words.slice(0, length).join(' '))).find((found) => found !== undefined)
  if (command === undefined) return `there is no command ${words.slice(0, 2).join(' ')}`
  try {
    parseWords(command, words.slice(command.name.split(' ').length))
    return null
  } catch (error) {
    return (error as Error).message
  }
}

const named = (name: string): Command | undefined => COMMANDS.find((command) => command.name === name)
