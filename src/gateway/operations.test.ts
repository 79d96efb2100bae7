import { describe, expect, it } from 'vitest'
import { createRecorder } from '../telemetry/index.ts'
import { placeOf } from './errors.ts'
import { answering, byteModel, createWorld, errorOf, servedModel } from './testing/doubles.ts'

const clamped = { advertisedWindow: 2048, prefillPool: 1024, decodePool: 2048, pageSize: 16 }

describe('operations', () => {
  it('health says that the process answers', async () => {
    const response = await createWorld().send('/health', { headers: { authorization: '' } })
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
  })

  it('ready is 200 only when every model is', async () => {
    const world = createWorld({ models: [byteModel('tiny', clamped), byteModel('other')] })
    world.engine.served = [servedModel('tiny'), servedModel('other')]
    expect((await world.send('/ready')).status).toBe(200)
    world.engine.served = [servedModel('tiny'), { ...servedModel('other'), ready: false, reason: 'decode is starting' }]
    const response = await world.send('/ready')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      ready: false,
      models: [
        {
          id: 'tiny',
          ready: true,
          reason: null,
          degraded: expect.any(String),
          max_model_len: 1024,
          advertised_context_window: 2048,
          integrity: 'full',
        },
        { id: 'other', ready: false, reason: 'decode is starting' },
      ],
    })
    world.engine.served = []
    expect(await (await world.send('/ready')).json()).toMatchObject({
      models: [{ reason: 'not started' }, { reason: 'not started' }],
    })
  })

  it('ready and metrics show each detector of each worker; a stale one degrades, and nothing but armed is 1', async () => {
    const world = createWorld({ models: [byteModel('tiny')] })
    const detector = { detector: 'seal', rule: 'R8', ageSeconds: 12.4 } as const
    world.engine.served = [
      {
        ...servedModel('tiny'),
        detectors: [
          { ...detector, role: 'prefill', state: 'armed' },
          { ...detector, role: 'decode', state: 'stale' },
          { ...detector, role: 'decode', detector: 'ticket', rule: 'R3', state: 'unknown', ageSeconds: null },
        ],
      },
    ]
    expect(await (await world.send('/ready')).json()).toMatchObject({
      ready: true,
      models: [
        {
          degraded: expect.stringMatching(/decode detector seal was not drilled lately$/),
          detectors: [
            { role: 'prefill', detector: 'seal', rule: 'R8', state: 'armed', last_drill_seconds: 12 },
            { role: 'decode', detector: 'seal', rule: 'R8', state: 'stale', last_drill_seconds: 12 },
            { role: 'decode', detector: 'ticket', rule: 'R3', state: 'unknown', last_drill_seconds: null },
          ],
        },
      ],
    })
    const text = await (await world.send('/metrics')).text()
    expect(text.match(/^bulkhead_detector_armed.*$/gm)).toEqual([
      'bulkhead_detector_armed{model="tiny",role="prefill",detector="seal"} 1',
      'bulkhead_detector_armed{model="tiny",role="decode",detector="seal"} 0',
      'bulkhead_detector_armed{model="tiny",role="decode",detector="ticket"} 0',
    ])
  })

  it('metrics show cached pages, and count those that nobody reads as room', async () => {
    const world = createWorld()
    const [model] = world.engine.served
    const prefill = { ...model!.pools.prefill, total: 64, free: 50, owned: 14, draining: 1, cached: 9, idle: 8 }
    world.engine.served = [{ ...model!, pools: { ...model!.pools, prefill } }]
    const text = await (await world.send('/metrics')).text()
    for (const line of [
      'bulkhead_pages{model="tiny",pool="prefill",state="free"} 58',
      'bulkhead_pages{model="tiny",pool="prefill",state="owned"} 6',
      'bulkhead_prefix_pages{model="tiny"} 9',
    ])
      expect(text).toContain(`${line}\n`)
  })

  it("metrics show pools, queue, vLLM's names and outcomes, and no tenant", async () => {
    const recorder = createRecorder()
    const world = createWorld({ telemetry: recorder.record, metrics: recorder.families })
    world.engine.onSubmit = answering('ok')
    await world.post('/v1/completions', { model: 'tiny', prompt: 'x' })
    await world.post('/v1/completions', { model: 'tiny', prompt: 'x'.repeat(5000) })
    await world.post('/v1/completions', { model: 'made-up-by-a-client', prompt: 'x' })
    const response = await world.send('/metrics', { headers: { authorization: '' } })
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    const text = await response.text()
    for (const line of [
      'bulkhead_requests_total{model="tiny",outcome="complete"} 1',
      'bulkhead_requests_total{model="tiny",outcome="refused"} 1',
      'bulkhead_requests_refused_total{model="none",code="model_not_found"} 1',
      'bulkhead_tokens_total{model="tiny",kind="output"} 2',
      'bulkhead_pages{model="tiny",pool="decode",state="free"} 60',
      'bulkhead_queue_length{model="tiny"} 1',
      'bulkhead_context_window_tokens{model="tiny",kind="effective"} 1024',
      'vllm:num_requests_running{model_name="tiny"} 2',
      'vllm:num_requests_waiting{model_name="tiny"} 1',
      'vllm:kv_cache_usage_perc{model_name="tiny"} 0.0625',
    ]) {
      expect(text).toContain(`${line}\n`)
    }
    expect(text).not.toMatch(/tenant|made-up/)
  })

  it('security.txt is there when it was given', async () => {
    expect((await createWorld().send('/.well-known/security.txt')).status).toBe(404)
    const response = await createWorld({ securityTxt: 'Contact: mailto:a@b.example\n' }).send(
      '/.well-known/security.txt',
    )
    expect(await response.text()).toBe('Contact: mailto:a@b.example\n')
  })
})

describe('a fault of ours', () => {
  it('is a 500 that says nothing more, and has its id', async () => {
    const broken = {
      ...createWorld().engine,
      models: (): never => {
        throw new Error('SECRET')
      },
    }
    const world = createWorld({ engine: broken })
    for (const path of ['/ready', '/metrics']) {
      const response = await world.send(path)
      expect(response.headers.get('x-request-id')).toMatch(/^req_/)
      const error = await errorOf(response)
      expect(error).toMatchObject({ status: 500, type: 'server_error', code: 'internal' })
      expect(error.message).not.toContain('SECRET')
    }
    expect(world.events).toContainEqual({
      kind: 'request_failed',
      model: 'none',
      code: 'internal',
      at: expect.stringMatching(/^gateway\/operations\.test\.ts:\d+$/),
    })
    expect(JSON.stringify(world.events)).not.toContain('SECRET')
  })

  it('while a prompt is counted is a failure and no refusal; its place is told, its words are not', async () => {
    const model = byteModel()
    const encodeText = (text: string): never => {
      throw new Error(`${text}\n    at secret (/app/src/${text}.ts:1:1)`)
    }
    const world = createWorld({ models: [{ ...model, prompt: { ...model.prompt, encodeText } }] })
    const error = await errorOf(await world.post('/v1/completions', { model: 'tiny', prompt: 'SECRET' }))
    expect(error).toMatchObject({ status: 500, code: 'internal' })
    expect(world.events).toContainEqual({
      kind: 'request_failed',
      model: 'tiny',
      code: 'internal',
      at: expect.stringMatching(/^gateway\/operations\.test\.ts:\d+$/),
    })
    expect(JSON.stringify([error, world.events])).not.toContain('SECRET')
  })

  it.each([['not even an error'], [Object.assign(new Error('x'), { stack: undefined })], [{ stack: 7 }]])(
    'has no place where it brings none: %j',
    (thrown) => expect(placeOf(thrown)).toBeNull(),
  )
})
