import { expect, it } from 'vitest'
import { idsOf, ofKind, resultOf } from '../testing/kit.ts'
import { cachedOf, cachingPrefill, wordsOf } from '../testing/prefill-kit.ts'

const ids = (count: number, first = 10): { readonly ids: Int32Array } => ({ ids: idsOf(count, first) })

it('a sum that is no number, and no page to blame, makes what was read from the cache as suspect as the request’s own pages', () => {
  const { ask, settle, run, machine, step } = cachingPrefill(16)
  run('a', ids(8))
  run('x', ids(8, 500))
  const begun = settle(ask('b', ids(13)), {}, ['forward'])
  const { plan } = ofKind(begun, 'forward')[0]!
  const result = resultOf(plan)
  const fault = { kind: 'not_finite', page: -1, layer: 0 } as const
  const met = step({
    kind: 'forward_done',
    result: { ...result, results: [{ ...result.results[0]!, fault }] },
    seconds: 0,
  })
  expect(ofKind(wordsOf(met), 'failed')).toMatchObject([
    { requestId: 'b', code: 'kv_integrity', detail: 'R5 not_finite' },
  ])
  expect(machine.poolUse()).toMatchObject({ cached: 2, quarantined: 2 })
  const end = settle(met)
  expect(ofKind(wordsOf(end), 'released')).toMatchObject([{ requestId: 'b' }])
  expect(machine.poolUse()).toMatchObject({ cached: 2, quarantined: 0, free: 14 })
  // Both pages that were read are computed anew.
  expect(cachedOf(run('c', ids(13)))).toBe(0)
})
