import { expect, test } from 'vitest'
import type { EngineEvent } from '../../src/cluster/index.ts'
import { engineModel, PAGE, promptOf, start, until } from './harness.ts'

/** Of one request over real processes: its tokens, and how many prompt tokens came out of the cache. */
const ask = (
  engine: Awaited<ReturnType<typeof start>>['engine'],
  requestId: string,
  ids: Int32Array,
  tenant: string,
): Promise<{ readonly tokens: readonly number[]; readonly cached: number; readonly last: EngineEvent }> => {
  const tokens: number[] = []
  let cached = 0
  return new Promise((settle) => {
    engine.submit(
      {
        requestId,
        tenant,
        model: 'tiny',
        ids,
        contract: {
          promptTokens: ids.length,
          maxOutput: 8,
          n: 1,
          prefillPages: Math.ceil(ids.length / PAGE),
          decodePages: Math.ceil((ids.length + 8) / PAGE),
        },
        sampling: { temperature: 0.8, topP: 1, topK: 0, seed: 5, topLogprobs: null },
        endIds: [],
      },
      (event) => {
        if (event.kind === 'token') tokens.push(event.sampled.token)
        if (event.kind === 'cached') cached = event.tokens
        if (event.kind === 'done' || event.kind === 'failed') settle({ tokens, cached, last: event })
      },
    )
  })
}

test('worker processes reuse a tenant’s prefix, never another’s, and answer the same; the quota is theirs too', async () => {
  const { kvBytesPerPage } = await sizes()
  const prefixCache = { publicPrefixes: [], quotaBytes: new Map([['c', 2 * kvBytesPerPage]]) }
  const { engine } = await start({ prefixCache })
  const ids = promptOf(300)
  const cachedPages = (): number => engine.models()[0]!.pools.prefill.cached ?? 0
  const first = await ask(engine, 'r1', ids, 'a')
  await until(() => cachedPages() === 18)
  const [again, other] = [await ask(engine, 'r2', ids, 'a'), await ask(engine, 'r3', ids, 'b')]
  expect([first.cached, again.cached, other.cached]).toEqual([0, 288, 0])
  expect(again.tokens).toEqual(first.tokens)
  expect(other.tokens).toEqual(first.tokens)
  await until(() => cachedPages() === 36)
  await ask(engine, 'r4', ids, 'c')
  await until(() => cachedPages() === 38)
  await engine.stop(0)
})

const sizes = async (): Promise<{ readonly kvBytesPerPage: number }> => {
  const { shape } = await engineModel('tiny')
  return { kvBytesPerPage: shape.layers * shape.kvHeads * shape.headDim * 2 * 4 * PAGE }
}
