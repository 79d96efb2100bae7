import { expect, it } from 'vitest'
import { checkModel } from './check.ts'

const tiny = new URL('../../models/tiny.gguf', import.meta.url).pathname

it('says what would be loaded and how large pools can be', async () => {
  const report = await checkModel(tiny, { pageSize: 16, memory: 8e9 })
  if (report.kind !== 'ok') throw new Error(report.message)
  expect(report).toMatchObject({
    architecture: 'llama',
    contextLength: 2048,
    kvBytesPerToken: 4096,
    converted: [],
    chatTemplate: true,
    tokenizer: { kind: 'byte-level BPE' },
  })
  const { addressable, addressableShared, inMemory } = report.largestPool
  expect(addressableShared).toBeGreaterThan(0.9 * (addressable / 2))
  expect(addressableShared).toBeLessThanOrEqual(addressable / 2)
  expect(addressable * report.kvBytesPerToken).toBeLessThan(2 ** 32)
  expect(addressable * report.kvBytesPerToken).toBeGreaterThan(0.9 * 2 ** 32)
  expect(inMemory).toBe(Math.min(inMemory, addressable))
  expect(inMemory % 16).toBe(0)
})

it('counts what a worker adds for itself', async () => {
  const [plain, extra] = await Promise.all(
    [0, 9].map((extraPages) => checkModel(tiny, { pageSize: 16, memory: 64e9, extraPages })),
  )
  if (plain!.kind !== 'ok' || extra!.kind !== 'ok') throw new Error('refused')
  for (const size of ['addressable', 'addressableShared', 'inMemory'] as const)
    expect(plain.largestPool[size] - extra.largestPool[size]).toBe(9 * 16)
})

it('finds smaller pools where memory is short, and none where there is none', async () => {
  const some = await checkModel(tiny, { pageSize: 16, memory: 1e9 })
  const none = await checkModel(tiny, { pageSize: 16, memory: 1e8 })
  if (some.kind !== 'ok' || none.kind !== 'ok') throw new Error('refused')
  expect(some.largestPool.inMemory).toBeGreaterThan(0)
  expect(some.largestPool.inMemory).toBeLessThan(some.largestPool.addressable)
  expect(none.largestPool.inMemory).toBe(0)
})
