import { describe, expect, it } from 'vitest'
import { answering, createWorld, errorOf, readFrames } from './testing/doubles.ts'

const parse = (frame: string | undefined): Record<string, unknown> =>
  JSON.parse(frame ?? 'null') as Record<string, unknown>

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

describe('failures', () => {
  const codes = [
    ['queue_full', 503, 'queue_full'],
    ['queue_timeout', 503, 'queue_timeout'],
    ['unavailable', 503, 'unavailable'],
    ['worker_lost', 503, 'worker_lost'],
    ['kv_integrity', 500, 'kv_integrity'],
    ['contract_mismatch', 500, 'kv_integrity'],
    ['bad_ticket', 500, 'kv_integrity'],
    ['internal', 500, 'internal'],
  ] as const

  it.each(codes)('%s before the first token is %i %s, streamed or not', async (code, status, shown) => {
    const world = createWorld()
    world.engine.onSubmit = (submission) => submission.emit({ kind: 'failed', code, retryAfterSeconds: 3 })
    for (const stream of [true, false]) {
      const response = await world.post('/v1/completions', { model: 'tiny', prompt: 'x', stream })
      expect(response.headers.get('retry-after')).toBe(status === 503 ? '3' : null)
      expect(await errorOf(response)).toMatchObject({ status, code: shown })
    }
  })

  it('after the first token a stream ends in an error frame and a reset, without [DONE]', async () => {
    const world = createWorld()
    world.engine.onSubmit = (submission) => {
      submission.say('ab')
      submission.emit({ kind: 'failed', code: 'kv_integrity', retryAfterSeconds: null })
      submission.emit({ kind: 'done' })
    }
    const { frames, ending } = await readFrames(
      await world.post('/v1/completions', { model: 'tiny', prompt: 'x', stream: true }),
    )
    expect(ending).toBe('reset')
    expect(frames).toHaveLength(3)
    expect(parse(frames.at(-1))).toMatchObject({
      error: { type: 'server_error', code: 'kv_integrity', details: { rule: 'R5' } },
    })
    expect(frames).not.toContain('[DONE]')
  })

  it('after the first token an answer in one piece is an error and nothing else', async () => {
    const world = createWorld()
    world.engine.onSubmit = (submission) => {
      submission.say('partial')
      submission.emit({ kind: 'failed', code: 'worker_lost', retryAfterSeconds: null })
    }
    const response = await world.post('/v1/completions', { model: 'tiny', prompt: 'x' })
    const text = await response.text()
    expect(response.status).toBe(503)
    expect(text).not.toContain('partial')
  })

  it("an engine that throws is a 500 and frees the tenant's place", async () => {
    const world = createWorld({ limits: { concurrent: 1 } })
    world.engine.onSubmit = () => {
      throw new Error('broken')
    }
    for (let i = 0; i < 3; i++) {
      expect(await errorOf(await world.post('/v1/completions', { model: 'tiny', prompt: 'x' }))).toMatchObject({
        status: 500,
        code: 'internal',
      })
    }
  })
})

describe('a client that goes away', () => {
  it('while it waits', async () => {
    const world = createWorld({ limits: { concurrent: 1 } })
    const controller = new AbortController()
    const pending = world.post('/v1/completions', { model: 'tiny', prompt: 'x' }, { signal: controller.signal })
    await settle()
    expect(world.engine.submissions[0]?.aborted()).toBe(0)
    controller.abort()
    expect(world.engine.submissions[0]?.aborted()).toBe(1)
    expect((await pending).status).toBe(499)
    world.engine.onSubmit = answering('ok')
    expect((await world.post('/v1/completions', { model: 'tiny', prompt: 'x' })).status).toBe(200)
  })

  it('while it reads a stream', async () => {
    const world = createWorld()
    const pending = world.post('/v1/completions', { model: 'tiny', prompt: 'x', stream: true })
    await settle()
    const submission = world.engine.submissions[0]
    submission?.say('a')
    const response = await pending
    await response.body?.cancel()
    expect(submission?.aborted()).toBe(1)
    submission?.say('b')
    submission?.emit({ kind: 'failed', code: 'internal', retryAfterSeconds: null })
    expect(world.events.filter(({ kind }) => kind.startsWith('request_')).map(({ kind }) => kind)).toEqual([
      'request_admitted',
      'request_aborted',
    ])
  })

  it('a stream cut by its signal never ends cleanly', async () => {
    const world = createWorld()
    const controller = new AbortController()
    const pending = world.post(
      '/v1/completions',
      { model: 'tiny', prompt: 'x', stream: true },
      { signal: controller.signal },
    )
    await settle()
    world.engine.submissions[0]?.say('a')
    const response = await pending
    controller.abort()
    const { frames, ending } = await readFrames(response)
    expect(ending).toBe('reset')
    expect(frames).not.toContain('[DONE]')
  })
})
