import { describe, expect, it } from 'vitest'
import { findCommand, groupHelp, noSuchCommand, overview } from './find.ts'

describe('a command', () => {
  it('is found by its whole name, and keeps the words after it', () => {
    expect(findCommand(['lab', 'sim', '--seeds', '3'])).toMatchObject({
      command: { name: 'lab sim' },
      rest: ['--seeds', '3'],
    })
    expect(findCommand(['lab'])).toBeNull()
  })

  it.each([
    [['serv'], 'no command "serv"; did you mean serve? (see: bulkhead --help)'],
    [['frobnicate'], 'no command "frobnicate" (see: bulkhead --help)'],
    [['lab', 'leek'], 'no command "lab leek"; did you mean lab leak? (see: bulkhead lab --help)'],
    [['models'], 'models needs one of: check (see: bulkhead models --help)'],
  ])('that does not exist is named, with the nearest: %j', (words, problem) => {
    expect(noSuchCommand(words)).toBe(problem)
  })

  it('of a group stands in its help in the columns of the overview', () => {
    expect(groupHelp(['nothing'])).toBeNull()
    const lines = groupHelp(['lab'])!.split('\n')
    expect(lines[0]).toBe('commands:')
    const summaries = lines.slice(1, -1).map((line) => /^ {2}lab \w+ +/.exec(line)?.[0].length)
    expect(new Set(summaries).size).toBe(1)
    for (const line of lines.slice(1, -1)) expect(overview()).toContain(line.trim().split(/ {2,}/)[1])
  })
})
