import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { bulkhead, temporaryFolder } from './bulkhead.ts'

describe('bulkhead', () => {
  it('lists its commands, and each has help with examples', async () => {
    const overview = await bulkhead(['--help'])
    expect(overview.code).toBe(0)
    const names = [...overview.stdout.matchAll(/^ {2}(\S+(?: [a-z]+)?) {2,}/gm)].map((match) => match[1] ?? '')
    expect(names).toContain('serve')
    for (const name of names) {
      const help = await bulkhead([...name.split(' '), '--help'])
      expect(help.code, name).toBe(0)
      expect(help.stdout, name).toMatch(/usage: bulkhead [\s\S]*options:[\s\S]*--json[\s\S]*examples:\n {2}\S/)
    }
  })

  it.each([
    [['nonsense']],
    [['lab']],
    [['serve', '--nonsense']],
    [['serve', '--port', '70000']],
    [['serve', '--config', 'nowhere.yaml']],
    [['serve', 'operand']],
    [['lab', 'sim', '--seeds', '-1']],
    [['lab', 'sim', '--seed', '1', '--from', '2']],
    [['lab', 'sim', '--from', '4294967295', '--seeds', '5']],
    [['lab', 'sim', '--replay', 'nowhere.json', '--without', 'R6']],
    [['lab', 'leak', '--port', '3']],
    [['models', 'check']],
    [['bench', 'engine', '--transport', 'pigeon']],
  ])('answers a wrong call with exit 2 and one line: %j', async (words) => {
    const { code, stdout, stderr } = await bulkhead(words)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).not.toContain('    at ')
  })

  it('gives the same simulation report each time', async () => {
    const run = async () =>
      JSON.parse((await bulkhead(['lab', 'sim', '--seeds', '3', '--from', '40', '--json'])).stdout)
    const first = await run()
    expect(first).toMatchObject({ from: 40, seeds: 3, failures: [] })
    expect(first.events).toBeGreaterThanOrEqual(900)
    expect(first.digest).toMatch(/^[0-9a-f]+$/)
    expect(await run()).toEqual(first)
  })
})

describe('models check', () => {
  it('says what a file holds', async () => {
    const { code, stdout } = await bulkhead(['models', 'check', 'models/tiny.gguf', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      architecture: 'llama',
      contextLength: 2048,
      kvBytesPerToken: 4096,
      chatTemplate: true,
    })
  })

  it.skipIf(process.platform === 'win32')('does not wait for a pipe that nobody writes', async () => {
    const folder = temporaryFolder()
    execFileSync('mkfifo', [join(folder.path, 'pipe.gguf')])
    const { code, stdout } = await bulkhead(['models', 'check', join(folder.path, 'pipe.gguf'), '--json'])
    folder.remove()
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ ok: false })
  })

  it.each([
    ['no GGUF file at all', 'package.json', 'not_gguf'],
    ['a file that is not there', 'nowhere.gguf', 'unreadable'],
  ])('refuses %s', async (_what, file, expected) => {
    const { code, stdout, stderr } = await bulkhead(['models', 'check', file, '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, code: expected })
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe('serve --check', () => {
  const short = 'models:\n  - id: tiny\n    engine: { prefill_pool: 1024, decode_pool: 4096 }\n'
  const folder = temporaryFolder({
    'short.yaml': short,
    'clamp.yaml': short.replace('    engine', '    on_short_pool: clamp\n    engine'),
    'wide.yaml': 'models:\n  - id: tiny\n    context_window: 4096\n',
    'typo.yaml': 'listn: 127.0.0.1:1\n',
  })
  afterAll(() => folder.remove())
  const check = (file: string) => bulkhead(['serve', '--check', '--json', '--config', file], { cwd: folder.path })

  it('refuses a pool that cannot hold the advertised window, with both numbers and the key that mends it', async () => {
    const { code, stderr } = await check('short.yaml')
    expect(code).toBe(1)
    expect(stderr).toMatch(/1024/)
    expect(stderr).toMatch(/2048/)
    expect(stderr).toMatch(/prefill_pool/)
  })

  it('serves the effective window where the operator says clamp', async () => {
    const { code, stdout } = await check('clamp.yaml')
    expect(code).toBe(0)
    expect(JSON.parse(stdout).models[0]).toMatchObject({
      id: 'tiny',
      max_model_len: 1024,
      advertised_context_window: 2048,
    })
  })

  it("refuses a window above the file's", async () => {
    const { code, stderr } = await check('wide.yaml')
    expect(code).toBe(1)
    expect(stderr).toMatch(/4096.*2048/)
  })

  it('refuses an unknown key and names the nearest', async () => {
    const { code, stderr } = await check('typo.yaml')
    expect(code).toBe(1)
    expect(stderr).toMatch(/listn/)
    expect(stderr).toMatch(/listen/)
  })

  it('publishes its schema', async () => {
    const { code, stdout } = await bulkhead(['serve', '--schema'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).properties).toHaveProperty('tenants')
    expect(stdout).toBe(readFileSync('docs/bulkhead.schema.json', 'utf8'))
  })
})
