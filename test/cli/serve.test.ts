import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bulkhead, type Served, startServe, temporaryFolder } from './bulkhead.ts'

const run = promisify(execFile)
const folder = temporaryFolder()
let server: Served

beforeAll(async () => {
  server = await startServe(folder.path, [], { BULKHEAD_KEYS: 'acme=KEY-ONE-ACME,globex=KEY-TWO-GLOBEX' })
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

const paste = async (line: string | undefined) => JSON.parse((await run('bash', ['-c', line ?? 'false'])).stdout)

describe('serve', () => {
  it('prints two requests that work when pasted', async () => {
    const [request, oversized] = server
      .printed()
      .split('\n')
      .filter((line) => line.includes('curl '))
    const answer = await paste(request)
    expect(answer.choices[0].message.content.length).toBeGreaterThan(0)
    const refusal = await paste(oversized)
    expect(refusal.error).toMatchObject({ code: 'context_length_exceeded', type: 'invalid_request_error' })
    expect(refusal.error.details).toMatchObject({ n_ctx: 2048, bound: 'context_window', n_prompt_tokens_is: 'exact' })
  })

  it('serves tenants from the environment', async () => {
    for (const [key, status] of [
      ['KEY-ONE-ACME', 200],
      ['KEY-TWO-GLOBEX', 200],
      ['KEY-THREE', 401],
    ] as const) {
      const response = await fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
      expect(response.status).toBe(status)
    }
  })

  it('keeps its secret and demo keys to itself', () => {
    for (const name of ['secret', 'tenants.json']) {
      expect(statSync(join(folder.path, 'state', name)).mode & 0o077, name).toBe(0)
    }
  })

  it('shows the page, and its data only to the key in the printed address', async () => {
    const address = /^page: (\S+)#key=(\S+)$/m.exec(server.printed())
    const page = await fetch(address?.[1] ?? '')
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('<!doctype html>')
    expect((await fetch(`${server.url}/admin/feed`)).status).toBe(401)
    const controller = new AbortController()
    const feed = await fetch(`${server.url}/admin/feed`, {
      headers: { authorization: `Bearer ${address?.[2]}` },
      signal: controller.signal,
    })
    expect(feed.status).toBe(200)
    controller.abort()
  })

  it('says where its state cannot be kept', async () => {
    writeFileSync(join(folder.path, 'file'), '')
    const state = join(folder.path, 'file', 'state')
    const { code, stderr } = await bulkhead(['serve', '--port', '0', '--model', 'tiny', '--state', state])
    expect(code).toBe(1)
    expect(stderr).toContain(`cannot make the directory ${state} (ENOTDIR); choose another place with --state`)
  })

  it('names the model whose weights only its workers can judge, and listens nowhere', async () => {
    const file = readFileSync(join(import.meta.dirname, '../../models/tiny.gguf'))
    // The last tensors are norms and scales: not a number, all of them.
    file.fill(0xff, file.length - 1024)
    const broken = join(folder.path, 'broken.gguf')
    writeFileSync(broken, file)
    const words = ['serve', '--port', '0', '--state', join(folder.path, 'third'), '--model', broken]
    const { code, stdout, stderr } = await bulkhead(words)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr.trim().split('\n').at(-1)).toMatch(
      /^bulkhead: model broken: tensor \S+ holds a value that is not finite$/,
    )
  })

  it('serves a model whose workers share a memory', async () => {
    const files = temporaryFolder({
      'bulkhead.yaml': 'models: [{ id: tiny, engine: { transport: shared, prefill_pool: 4096, decode_pool: 4096 } }]',
    })
    const shared = await startServe(files.path, [], { BULKHEAD_KEYS: 'acme=KEY-ONE-ACME' })
    const ask = async (url: string): Promise<unknown> => {
      const response = await fetch(`${url}/v1/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer KEY-ONE-ACME', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'tiny', prompt: 'Once upon a time', max_tokens: 12, seed: 4, logprobs: 2 }),
      })
      expect(response.status).toBe(200)
      return ((await response.json()) as { choices: unknown }).choices
    }
    const ready = await fetch(`${shared.url}/ready`)
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({ models: [{ id: 'tiny', transport: 'shared' }] })
    expect(await ask(shared.url)).toEqual(await ask(server.url))
    const workers = (await run('pgrep', ['-P', String(shared.pid)])).stdout.trim().split('\n')
    expect(await shared.stop()).toBe(0)
    expect(workers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
    files.remove()
  })

  it('refuses two pools that no one memory can hold', async () => {
    const files = temporaryFolder({
      'bulkhead.yaml':
        'models: [{ id: tiny, engine: { transport: shared, prefill_pool: 600000, decode_pool: 600000 } }]',
    })
    const { code, stderr } = await bulkhead(['serve', '--check'], { cwd: files.path })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/transport: shared gives them; two of \d+ tokens do/)])
    files.remove()
  })

  it.each(['SIGTERM', 'SIGHUP'] as const)('ends at %s with exit 0 and leaves no worker behind', async (signal) => {
    const second = await startServe(folder.path, ['--model', 'tiny'])
    const children = (await run('pgrep', ['-P', String(second.pid)])).stdout.trim().split('\n')
    expect(children.length).toBe(2)
    // A terminal that closes tells the whole group.
    if (signal === 'SIGHUP') for (const pid of children) process.kill(Number(pid), signal)
    expect(await second.stop(signal)).toBe(0)
    expect(children.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
  })
})
