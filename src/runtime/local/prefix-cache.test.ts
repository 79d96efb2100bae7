import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type EngineEvent,
  type EnginePort,
  fullFences,
  type PrefixCacheOptions,
  privatePrefixes,
} from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'
import { contractLayout } from '../../kv/index.ts'
import { inspectModel } from '../../model/index.ts'
import type { EngineModel } from '../supervisor/engine.ts'
import { type LocalEngine, startLocalEngine } from './engine.ts'

const PAGE = 16
const weights = fileURLToPath(new URL('../../../models/recall.gguf', import.meta.url))

let model: Omit<EngineModel, 'integrity'>
let off: LocalEngine
const open: LocalEngine[] = []
beforeAll(async () => {
  const found = await inspectModel(weights)
  if (found.kind !== 'ok') throw new Error(found.message)
  const { digest, shape } = found
  model = { id: 'recall', weights, digest, shape, prefillPool: 40 * PAGE, decodePool: 80 * PAGE, pageSize: PAGE }
  off = await start(undefined)
})
afterAll(async () => {
  for (const engine of open) await engine.close()
})

const start = async (
  prefixCache: PrefixCacheOptions | undefined,
  change: Partial<Parameters<typeof startLocalEngine>[0]> = {},
): Promise<LocalEngine> => {
  const engine = await startLocalEngine({
    model,
    fences: fullFences(),
    telemetry: () => undefined,
    ...(prefixCache === undefined ? {} : { prefixCache }),
    ...change,
  })
  open.push(engine)
  return engine
}

interface Answer {
  /** Tokens and log-probabilities, bit for bit. */
  readonly sampled: readonly unknown[]
  readonly cached: number
  readonly failed: string | null
}

let asked = 0
const ask = (engine: EnginePort, ids: Int32Array, { tenant = 'a', n = 1 } = {}): Promise<Answer> => {
  const maxOutput = 6
  const { promptPages, totalPages } = contractLayout({ promptTokens: ids.length, maxOutput, n }, PAGE)
  const sampled: unknown[] = []
  let cached = 0
  return new Promise((settle) => {
    engine.submit(
      {
        requestId: `r${asked++}`,
        tenant,
        model: 'recall',
        ids,
        contract: { promptTokens: ids.length, maxOutput, n, prefillPages: promptPages, decodePages: totalPages },
        sampling: { temperature: 0.9, topP: 1, topK: 0, seed: 7, topLogprobs: 3 },
        endIds: [2],
      },
      (event: EngineEvent) => {
        if (event.kind === 'token') sampled.push([event.sequence, event.sampled])
        if (event.kind === 'cached') cached += event.tokens
        if (event.kind === 'done') settle({ sampled: bySequence(sampled), cached, failed: null })
        if (event.kind === 'failed') settle({ sampled, cached, failed: event.code })
      },
    )
  })
}

/** Sequences of one request come in any order; tokens of one sequence do not. */
const bySequence = (sampled: readonly unknown[]): readonly unknown[] =>
  [...(sampled as [number, unknown][])].sort(([a], [b]) => a - b)

const prompt = (length: number, own = 0): Int32Array =>
  Int32Array.from({ length }, (_, i) => 260 + ((i * 7 + (i >= length - own ? 13 : 0)) % 290))

const settled = async (engine: LocalEngine): Promise<void> => {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setTimeout(resolve, 1))
  expect(engine.models()[0]!.pools.decode.owned).toBe(0)
}

const poolOf = (engine: LocalEngine) => engine.models()[0]!.pools.prefill

describe('a prompt that begins like one before', () => {
  const cases: readonly (readonly [length: number, own: number, n: number, cached: number])[] = [
    [5, 0, 1, 0],
    [40, 0, 1, 0],
    [40, 0, 1, 32],
    [48, 0, 1, 32],
    // A prompt that is cached to its end still computes its last page.
    [48, 0, 3, 32],
    [300, 260, 1, 32],
    [300, 260, 1, 288],
    [300, 1, 2, 48],
    [33, 0, 1, 32],
  ]

  it('computes only what is new, and answers with the very bits of an engine without a cache', async () => {
    const on = await start(privatePrefixes)
    for (const [length, own, n, cached] of cases) {
      const ids = prompt(length, own)
      const reused = await ask(on, ids, { n })
      const alone = await ask(off, ids, { n })
      expect(alone.cached).toBe(0)
      expect([length, own, reused.cached]).toEqual([length, own, cached])
      expect(reused.failed).toBe(null)
      expect(reused.sampled).toEqual(alone.sampled)
      await settled(on)
    }
  })

  it('keeps to its bits under pressure, when many share and evict', async () => {
    const on = await start(privatePrefixes)
    const wanted = Array.from({ length: 16 }, (_, i) => prompt(60 + (i % 5) * 50, i % 3 === 0 ? 0 : 40 + i))
    const answers = await Promise.all(wanted.map((ids, i) => ask(on, ids, { tenant: 'ab'[i % 2]! })))
    const alone: Answer[] = []
    for (const ids of wanted) alone.push(await ask(off, ids))
    expect(answers.map(({ sampled }) => sampled)).toEqual(alone.map(({ sampled }) => sampled))
    expect(answers.some(({ cached }) => cached > 0)).toBe(true)
    await settled(on)
    const { owned, cached, idle } = poolOf(on)
    expect([cached, idle]).toEqual([owned, owned])
    on.flushPrefixes()
    expect(poolOf(on).free).toBe(poolOf(on).total)
  })
})

describe('R9: whose prefix it is', () => {
  it('finds nothing of another tenant, though every token is the same', async () => {
    const on = await start(privatePrefixes)
    await ask(on, prompt(80), { tenant: 'a' })
    await settled(on)
    expect((await ask(on, prompt(80), { tenant: 'b' })).cached).toBe(0)
    await settled(on)
    expect((await ask(on, prompt(80), { tenant: 'b' })).cached).toBe(64)
  })

  it('shares what the operator made public, in whole pages, and nothing behind it', async () => {
    const on = await start({ publicPrefixes: [prompt(50)], quotaBytes: new Map() })
    await ask(on, prompt(120), { tenant: 'a' })
    await settled(on)
    const other = await ask(on, prompt(120), { tenant: 'b' })
    expect(other.cached).toBe(48)
    expect(other.sampled).toEqual((await ask(off, prompt(120))).sampled)
  })
})

describe('R8: a cached page that is no longer what was published', () => {
  it('ends the request that meets it, is never met again, and comes home', async () => {
    let kernels: PoolKernels | null = null
    const on = await start(privatePrefixes, {
      seams: {
        kernels: (role, user, own) => {
          if (role === 'prefill' && user === 'worker') kernels = own
          return own
        },
      },
    })
    await ask(on, prompt(80))
    await settled(on)
    const page = poolOf(on).cells.indexOf('s')
    const rows = new Uint8Array(kernels!.rowBytes(PAGE))
    kernels!.readRows(page, 1, PAGE, rows)
    rows[100]! ^= 1
    kernels!.writeRows(page, 1, PAGE, rows)
    expect((await ask(on, prompt(80))).failed).toBe('kv_integrity')
    await settled(on)
    const again = await ask(on, prompt(80))
    expect(again.failed).toBe(null)
    expect(again.sampled).toEqual((await ask(off, prompt(80))).sampled)
    await settled(on)
    on.flushPrefixes()
    expect(poolOf(on)).toMatchObject({ free: 40, quarantined: 0 })
  })
})
