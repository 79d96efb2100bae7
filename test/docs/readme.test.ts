/** What the README tells a newcomer to paste is pasted, against a real server in a folder of its own. */
import { execFile } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bulkhead, type Served, startServe, temporaryFolder } from '../cli/bulkhead.ts'
import { fencedBlocks, readDocument, root } from './documents.ts'

const run = promisify(execFile)
const README = readDocument('README.md')
const ADDRESS = 'http://127.0.0.1:8790'

const blocks = fencedBlocks(README, 'sh').filter((block) => block.includes('curl'))
const requests = blocks.filter((block) => !block.includes('.repeat('))
const oversized = blocks.filter((block) => block.includes('.repeat('))
/** Later blocks use what the first one sets, as in one shell. */
const keyLine = blocks.flatMap((block) => block.split('\n')).find((line) => line.startsWith('KEY='))

const folder = temporaryFolder()
let server: Served
beforeAll(async () => {
  // the state where the README looks for it: .bulkhead of the folder that one stands in
  server = await startServe(folder.path, ['--state', '.bulkhead'])
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

async function paste(block: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const script = `${keyLine}\n${block}`
    .replaceAll(ADDRESS, server.url)
    .replaceAll('curl -s', "curl -s -w '\\n%{http_code}'")
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder.path })
  const end = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(end + 1)), body: JSON.parse(stdout.slice(0, end)) }
}

describe('the README', () => {
  it('shows a chat, a completion and an oversized request, all at the default address', () => {
    expect(keyLine).toContain('.bulkhead/tenants.json')
    expect(blocks.every((block) => block.includes(ADDRESS))).toBe(true)
    expect(requests.map((block) => /\/v1\/[\w/]+/.exec(block)?.[0])).toEqual([
      '/v1/chat/completions',
      '/v1/completions',
    ])
    expect(oversized).toHaveLength(1)
  })

  it('a request of the README is answered when pasted', async () => {
    const [chat, completion] = await Promise.all(requests.map(paste))
    expect(chat).toMatchObject({
      status: 200,
      body: {
        object: 'chat.completion',
        model: 'tiny',
        choices: [{ message: { content: expect.stringMatching(/\S/) } }],
      },
    })
    // the code that its own prompt holds for K7
    expect(completion).toMatchObject({ status: 200, body: { model: 'recall', choices: [{ text: 'Q4ZT09AB' }] } })
  })

  it('the oversized request of the README gets the refusal that is printed there', async () => {
    const [printed] = fencedBlocks(README, 'json')
    expect(await paste(oversized[0]!)).toEqual({ status: 400, body: JSON.parse(printed!) })
  })

  it('the configuration of the README is one that serve takes', async () => {
    const [yaml] = fencedBlocks(README, 'yaml')
    const place = temporaryFolder({ 'bulkhead.yaml': yaml! })
    try {
      copyFileSync(join(root, 'models/tiny.gguf'), join(place.path, 'model.gguf'))
      const { code, stdout, stderr } = await bulkhead(['serve', '--check', '--json'], {
        cwd: place.path,
        env: { ACME_KEY: 'KEY-OF-ACME' },
      })
      expect(stderr).toBe('')
      expect(code).toBe(0)
      expect(JSON.parse(stdout).models).toMatchObject([{ id: 'tiny', max_model_len: 2048 }, { id: 'mine' }])
    } finally {
      place.remove()
    }
  })
})
