import { describe, expect, it } from 'vitest'
import type { EnginePort, ServedModel } from '../cluster/index.ts'
import type { TelemetryEvent } from '../telemetry/index.ts'
import { describeEvent } from './describe-event.ts'
import type { FeedSnapshot } from './feed.ts'
import { createServeFeed, type ServeFeed } from './index.ts'

const use = (cells: string): ServedModel['pools']['prefill'] => ({
  total: cells.length,
  free: 0,
  owned: 0,
  draining: 0,
  quarantined: 0,
  cells,
})

interface World {
  readonly feed: ServeFeed
  readonly timers: (() => void)[]
  readonly time: { now: number }
}

const served: ServedModel = {
  id: 'tiny',
  ready: true,
  reason: null,
  waiting: 3,
  running: 2,
  pools: { prefill: use('rf..'), decode: use('ssq.') },
}

const createWorld = (models: readonly ServedModel[] = [served]): World => {
  const timers: (() => void)[] = []
  const time = { now: 0 }
  const engine: Pick<EnginePort, 'models'> = { models: () => models }
  const feed = createServeFeed({
    engine,
    clock: { now: () => time.now, wall: () => 1000 + time.now },
    timers: {
      after: (_ms, callback) => {
        timers.push(callback)
        return { cancel: () => void timers.splice(timers.indexOf(callback), 1) }
      },
    },
    models: [
      { id: 'tiny', effectiveWindow: 1024, advertisedWindow: 2048, integrity: 'full' },
      { id: 'recall', effectiveWindow: 2048, advertisedWindow: 2048, integrity: 'tags' },
    ],
  })
  return { feed, timers, time }
}

const tick = (world: World, ms = 500): void => {
  world.time.now += ms
  world.timers.shift()?.()
}

describe('createServeFeed', () => {
  it('pushes the present state at once', () => {
    const seen: FeedSnapshot[] = []
    createWorld().feed.subscribe((json) => seen.push(JSON.parse(json) as FeedSnapshot))
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({
      at: 1000,
      beat: 500,
      caption: null,
      steps: [],
      panes: [
        {
          id: 'tiny',
          status: { label: 'ready', tone: 'warn' },
          pools: [
            { name: 'prefill', cells: 'rf..', marks: null },
            { name: 'decode', cells: 'ssq.', marks: null },
          ],
          outcome: null,
        },
        {
          id: 'recall',
          status: { label: 'not started', tone: 'bad' },
          subtitle: 'served without seals (integrity: tags)',
          pools: [],
        },
      ],
    })
    const figures = seen[0]?.panes[0]?.figures.map(({ label, value }) => `${label} ${value}`)
    expect(figures).toEqual(['running 2', 'waiting 3', 'tokens/s 0.0', 'window 1,024 of 2,048'])
  })

  it.each([
    ['armed', 'good'],
    ['stale', 'warn'],
  ] as const)('a model whose detector is %s is shown in tone %s', (state, tone) => {
    const detector = { role: 'decode', detector: 'seal', rule: 'R8', state, ageSeconds: 9 } as const
    createWorld([{ ...served, id: 'recall', detectors: [detector] }]).feed.subscribe((json) => {
      const { panes } = JSON.parse(json) as FeedSnapshot
      expect(panes[1]?.status).toEqual({ label: 'ready', tone })
    })
    expect.assertions(1)
  })

  it('is one line of JSON, whatever happened', () => {
    const world = createWorld()
    world.feed.record({ kind: 'worker_down', role: 'decode', model: 'tiny', epoch: 1, reason: 'exit\n\ndata: forged' })
    world.feed.subscribe((json) => expect(json).not.toContain('\n'))
    expect.assertions(1)
  })

  it('ticks while somebody looks, and only then', () => {
    const world = createWorld()
    expect(world.timers).toHaveLength(0)
    let seen = 0
    const leaveOne = world.feed.subscribe(() => seen++)
    const leaveTwo = world.feed.subscribe(() => seen++)
    expect(world.timers).toHaveLength(1)
    tick(world)
    expect([seen, world.timers.length]).toEqual([4, 1])
    leaveOne()
    tick(world)
    expect([seen, world.timers.length]).toEqual([5, 1])
    leaveTwo()
    expect(world.timers).toHaveLength(0)
  })

  it('counts tokens per second', () => {
    const world = createWorld()
    let last: FeedSnapshot | null = null
    world.feed.subscribe((json) => {
      last = JSON.parse(json) as FeedSnapshot
    })
    for (let i = 0; i < 60; i++) world.feed.record({ kind: 'token_gap', model: 'tiny', seconds: 0.01 })
    tick(world)
    const rate = (): string | undefined => last?.panes[0]?.figures[2]?.value
    expect(rate()).toBe('120')
    tick(world)
    expect(rate()).toBe('0.0')
  })

  it('keeps the newest events first, and not too many', () => {
    const world = createWorld()
    for (let epoch = 1; epoch <= 80; epoch++)
      world.feed.record({ kind: 'worker_up', role: 'decode', model: 'tiny', epoch })
    world.feed.subscribe((json) => {
      const { events } = JSON.parse(json) as FeedSnapshot
      expect(events).toHaveLength(50)
      expect(events[0]?.text).toContain('life 80')
    })
    expect.assertions(2)
  })
})

describe('describeEvent', () => {
  const events: readonly TelemetryEvent[] = [
    { kind: 'request_refused', model: 'tiny', code: 'context_length_exceeded' },
    { kind: 'request_failed', model: 'tiny', code: 'kv_integrity' },
    { kind: 'integrity_fault', role: 'decode', rule: 'R5', fault: 'page_tag', page: 17, owner: 3, requestId: 'req_1' },
    { kind: 'page_quarantined', role: 'prefill', page: 4, owner: 3, reason: 'no proof' },
  ]
  it('says it in a sentence, with the tone it deserves', () => {
    expect(events.map((event) => describeEvent(event))).toEqual([
      { tone: 'idle', text: 'tiny: a request was refused: too long for the model, before any page was reserved' },
      { tone: 'bad', text: 'tiny: a request failed (kv_integrity)' },
      { tone: 'bad', text: 'R5 stopped req_1 in decode: page_tag on page 17' },
      { tone: 'warn', text: 'prefill page 4 is quarantined (no proof)' },
    ])
  })

  it('leaves routine and tenants out', () => {
    expect(
      describeEvent({
        kind: 'http_request',
        requestId: 'r',
        tenant: 'acme',
        method: 'GET',
        route: 'health',
        status: 200,
        seconds: 0,
      }),
    ).toBeNull()
    expect(describeEvent({ kind: 'request_finished', model: 'tiny', reason: 'stop', outputTokens: 1 })).toBeNull()
  })
})
