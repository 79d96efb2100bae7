import { describe, expect, it } from 'vitest'
import { type Command, parseWords, UsageError } from './command.ts'

const command: Command = {
  name: 'thing do',
  summary: 'does a thing',
  options: { port: { type: 'string', value: 'PORT', help: 'a port' }, json: { type: 'boolean', help: 'as JSON' } },
  examples: [],
  run: async () => 0,
}

describe('the words after a command', () => {
  it('are options and operands; -h is --help', () => {
    expect(parseWords(command, ['--port', '1', 'x', '-h'])).toMatchObject({
      operands: ['x'],
      flags: { port: '1', help: true },
    })
  })

  it.each([
    [['--prot', '1'], 'no option --prot; did you mean --port? (see: bulkhead thing do --help)'],
    [['--prot=1'], 'no option --prot; did you mean --port? (see: bulkhead thing do --help)'],
    [['--json', '-p'], 'no option -p (see: bulkhead thing do --help)'],
    [['--port', '1', '--frobnicate'], 'no option --frobnicate (see: bulkhead thing do --help)'],
    [['--port'], '--port needs PORT (see: bulkhead thing do --help)'],
    [['--port', '-1'], '--port needs PORT, which does not begin with a dash (see: bulkhead thing do --help)'],
    [['--json=1'], '--json takes no value (see: bulkhead thing do --help)'],
  ])('that are wrong are named in one line: %j', (words, problem) => {
    expect(() => parseWords(command, words)).toThrow(new UsageError(problem))
  })
})
