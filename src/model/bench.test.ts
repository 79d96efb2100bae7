import { performance } from 'node:perf_hooks'
import { expect, it } from 'vitest'
import { benchEngine } from './bench.ts'

it('measures every case that the model has the positions for', async () => {
  const result = await benchEngine({
    path: new URL('../../models/tiny.gguf', import.meta.url).pathname,
    threads: 2,
    now: () => performance.now(),
    peakMemory: () => process.resourceUsage().maxRSS * 1024,
    steps: 3,
    batches: [1, 2],
    contexts: [64, 4096],
    prefills: [128, 4096],
  })
  if (result.kind !== 'ok') throw new Error(result.message)
  expect(result.decode.map(({ batch, context }) => [batch, context])).toEqual([
    [1, 64],
    [2, 64],
  ])
  expect(result.prefill.map(({ tokens }) => tokens)).toEqual([128])
  for (const { tokensPerSecond } of [...result.decode, ...result.prefill]) expect(tokensPerSecond).toBeGreaterThan(0)
  expect(result.peakBytes).toBeGreaterThan(result.heldBytes)
})
