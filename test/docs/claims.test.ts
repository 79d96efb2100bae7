/** The documents say nothing that the repository does not hold: files, symbols, tests, commands, links, worked examples. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { judge, type ModelLimits } from '../../src/admission/index.ts'
import { commandProblem, isCommand } from './commands.ts'
import {
  brokenLinks,
  declares,
  exists,
  fencedBlocks,
  hasTest,
  isPath,
  namedPaths,
  quoted,
  readDocument,
  root,
  tableRows,
} from './documents.ts'

const claims = tableRows(readDocument('docs/claims.md'), ['claim', 'status', 'witness'])
const rules = tableRows(readDocument('docs/rules.md'), ['rule', 'enforced by', 'fails without it', 'tried'])
const refused = tableRows(readDocument('docs/rules.md'), ['input', 'status', 'witness'])
const STATUSES = ['shipped', 'simulated', 'planned']
const TEST_FILE = /\.test\.ts$/

/** What is wrong with a cell of witnesses: test files each followed by names of tests in them, and commands. */
function witnessProblems(cell: string): readonly string[] {
  const problems: string[] = []
  let tests = 0
  let file: string | null = null
  for (const word of quoted(cell)) {
    if (isCommand(word)) {
      const problem = commandProblem(word)
      if (problem !== null) problems.push(problem)
      tests += 1
      file = null
    } else if (isPath(word)) {
      if (!TEST_FILE.test(word)) problems.push(`${word} is no test`)
      else if (!exists(word)) problems.push(`there is no ${word}`)
      file = exists(word) ? word : null
    } else if (file === null) problems.push(`no test file stands before \`${word}\``)
    else if (!hasTest(file, word)) problems.push(`${file} has no test \`${word}\``)
    else tests += 1
  }
  if (tests === 0) problems.push(`nothing witnesses it: ${cell}`)
  return problems
}

/** The same for files and the symbols they must declare. */
function symbolProblems(cell: string): readonly string[] {
  const problems: string[] = []
  let file: string | null = null
  for (const word of quoted(cell)) {
    if (isPath(word)) {
      file = word
      if (!exists(word)) problems.push(`there is no ${word}`)
    } else if (file === null || !exists(file)) problems.push(`no file stands before \`${word}\``)
    else if (!declares(file, word)) problems.push(`${file} declares no ${word}`)
  }
  return file === null ? [...problems, `no file is named: ${cell}`] : problems
}

describe('docs/claims.md', () => {
  it('gives every claim one of three statuses, and makes each claim once', () => {
    expect(claims.length).toBeGreaterThan(40)
    expect(claims.filter(([, status]) => !STATUSES.includes(status ?? ''))).toEqual([])
    expect(new Set(claims.map(([claim]) => claim)).size).toBe(claims.length)
  })

  it('has a witness that exists for all that is shipped or simulated, and none for what is planned', () => {
    const problems = claims.flatMap(([claim, status, witness = '']) =>
      (status === 'planned' ? (witness === 'none' ? [] : ['planned, but witnessed']) : witnessProblems(witness)).map(
        (problem) => `${claim}: ${problem}`,
      ),
    )
    expect(problems).toEqual([])
  })
})

describe('docs/rules.md', () => {
  it('speaks of every rule, R1 to R15, in words and in the table', () => {
    const names = Array.from({ length: 15 }, (_, index) => `R${index + 1}`)
    const text = readDocument('docs/rules.md')
    expect(names.filter((name) => !text.includes(`- **${name}, `))).toEqual([])
    expect([...new Set(rules.map(([rule]) => rule?.split(',')[0]))]).toEqual(names)
  })

  it('names files and symbols that exist, and tests that exist in the files named', () => {
    const problems = rules.flatMap(([rule, places = '', tests = '', tried]) => {
      if (tests === 'none') return places === 'not there yet' && tried === 'no' ? [] : [`${rule}: enforced untested`]
      return [...symbolProblems(places), ...witnessProblems(tests)].map((problem) => `${rule}: ${problem}`)
    })
    expect(problems).toEqual([])
  })

  it('has a test for every input it says is refused', () => {
    expect(refused.length).toBeGreaterThan(20)
    expect(refused.flatMap(([input, , witness = '']) => witnessProblems(witness).map((p) => `${input}: ${p}`))).toEqual(
      [],
    )
  })

  it('gives admission examples that are what the code answers', () => {
    const limits: ModelLimits = { advertisedWindow: 2048, prefillPool: 1024, decodePool: 2048, pageSize: 16 }
    const rows = tableRows(readDocument('docs/rules.md'), ['prompt', 'max_tokens', 'n', 'answer'])
    expect(rows.length).toBeGreaterThan(5)
    for (const [prompt, output, n, answer] of rows) {
      const maxOutput = output === 'none' ? null : Number(output)
      const verdict = judge(limits, { promptTokens: Number(prompt), promptTokensIs: 'exact', maxOutput, n: Number(n) })
      const said =
        verdict.kind === 'admitted'
          ? `200, contract ${verdict.contract.maxOutput}`
          : `400, ${verdict.bound}, n_ctx ${verdict.nCtx}`
      expect(said, `${prompt} ${output} ${n}`).toBe(answer)
    }
  })
})

const DOCUMENTS = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

describe.each(DOCUMENTS)('%s', (path) => {
  it('links to what is there', () => {
    expect(brokenLinks(path)).toEqual([])
  })

  it('names paths that are there', () => {
    // what a command makes is not there before it ran
    expect(namedPaths(readDocument(path)).filter((named) => !named.startsWith('bench/') && !exists(named))).toEqual([])
  })

  it('shows commands that can be run', () => {
    const text = readDocument(path)
    const lines = [...fencedBlocks(text, 'sh').flatMap((block) => block.split('\n')), ...quoted(text)].filter(isCommand)
    const problems = lines
      // a name in prose may stand for its whole family: `bulkhead …`
      .filter((line) => !line.includes('…'))
      .flatMap((line) => commandProblem(line) ?? [])
    expect(problems).toEqual([])
  })
})
