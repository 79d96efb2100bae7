import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

interface Mutant {
  readonly id: string
  readonly rule: string
  readonly file: string
  readonly find: string
  readonly replace: string
  readonly why: string
}

const root = resolve(import.meta.dirname, '../..')
const load = (file: string): Promise<unknown> => import(join(root, 'tools/mutate', file))
const { mutants } = (await load('mutants/index.js')) as { readonly mutants: readonly Mutant[] }
const { mutated } = (await load('tree.js')) as { readonly mutated: (text: string, mutant: Mutant) => string }

describe('the mutants', () => {
  it('are at least forty, each with its own name, and meet every rule from R1 to R12', () => {
    expect(mutants.length).toBeGreaterThanOrEqual(40)
    expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length)
    const rules = new Set(mutants.map(({ rule }) => rule))
    for (const rule of ['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7', 'R8', 'R9', 'R10', 'R11', 'R12'])
      expect(rules).toContain(rule)
    for (const { id, rule, why } of mutants) {
      expect(id.startsWith(`${rule}-`)).toBe(true)
      expect(why).not.toBe('')
    }
  })

  for (const mutant of mutants) {
    it(`${mutant.id} is found exactly once, and changes something`, () => {
      const text = readFileSync(join(root, mutant.file), 'utf8')
      expect(mutated(text, mutant)).not.toBe(text)
    })
  }

  it('differ from each other', () => {
    expect(new Set(mutants.map(({ file, find, replace }) => [file, find, replace].join('\0'))).size).toBe(
      mutants.length,
    )
  })
})

describe('a snippet', () => {
  const mutant = { id: 'X', rule: 'R1', file: 'f', find: 'one', replace: 'none', why: 'why' }

  it('must stand in its file, once', () => {
    expect(mutated('a one b', mutant)).toBe('a none b')
    expect(() => mutated('two', mutant)).toThrow('not in f')
    expect(() => mutated('one one', mutant)).toThrow('more than once')
    expect(() => mutated('one', { ...mutant, replace: 'one' })).toThrow('changes nothing')
  })
})

describe('npm run mutate', () => {
  const run = (...args: string[]) =>
    spawnSync(
      process.execPath,
      [
        '-e',
        `import('./tools/mutate/main.js').then(({ main }) => main(${JSON.stringify(args)})).then((code) => process.exit(code))`,
      ],
      {
        cwd: root,
        encoding: 'utf8',
      },
    )

  it('lists one id a line', () => {
    const { stdout, status } = run('--list')
    expect(status).toBe(0)
    expect(stdout.trimEnd().split('\n')).toEqual(mutants.map(({ id }) => id))
  })

  it('knows a wrong call', () => {
    expect(run('--only', 'R99-none').status).toBe(2)
    expect(run('--only').status).toBe(2)
    expect(run('--other').status).toBe(2)
  })
})
