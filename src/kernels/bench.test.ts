import { expect, it } from 'vitest'
import { benchKernels } from './index.ts'

it('the bench reports every case and a speed of seals and copies', () => {
  let clock = 0
  const speeds = benchKernels({
    now: () => clock++,
    span: 0,
    shape: { layers: 1, heads: 2, kvHeads: 1, headDim: 4, pageSize: 16 },
  })
  expect(speeds.attention.map(({ mode, batch, context }) => `${mode} ${batch} ${context}`)).toEqual([
    'decode 1 128',
    'decode 1 1024',
    'decode 1 4096',
    'decode 8 128',
    'decode 8 1024',
    'decode 8 4096',
    'prefill 1 512',
    'prefill 1 2048',
  ])
  // A call takes one tick of this clock: 1 ms.
  expect(speeds.attention[1]).toMatchObject({ ms: 1, gmacs: (2 * 1024 * 2 * 4) / 1e6 })
  expect(speeds.pageBytes).toBe(2 * 16 * 4 * 4)
  expect(speeds.sealGBs).toBe(speeds.copyGBs)
})
