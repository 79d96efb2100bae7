import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPool, type KernelChecks, openPool, type PoolKernels, type PoolMemory } from '../../kernels/index.ts'
import { inspectModel, type LoadedModel, loadModel, type ModelShape, poolShape, SMALL } from '../../model/index.ts'
import { temporaryModel } from '../../model/testing/harness.ts'
import { drillForward, invarianceFinding } from './forward-drills.ts'
import { drillPages, withDrillPages } from './pages.ts'

const PAGE_SIZE = 16
const ALL: KernelChecks = { tags: true, filled: true, guards: true }
const file = temporaryModel({ shape: SMALL, type: 'Q8_0', seed: 5, tied: true })
let model: LoadedModel
let shape: ModelShape
let pool: PoolMemory
let firstPage: number

beforeAll(async () => {
  const inspection = await inspectModel(file.path)
  if (inspection.kind !== 'ok') throw new Error(inspection.message)
  shape = inspection.shape
  const ledger = poolShape(shape, 4 * PAGE_SIZE, PAGE_SIZE)
  firstPage = drillPages(ledger).forward
  pool = createPool(withDrillPages(ledger), BigUint64Array.of(1n, 2n))
  const sampler = (): never => {
    throw new Error('a drill draws no token')
  }
  const loaded = await loadModel(file.path, { threads: 1, sampler, pool, checks: ALL })
  if (loaded.kind !== 'ok') throw new Error(loaded.message)
  model = loaded
})
afterAll(async () => {
  await model.pass.close()
  file.remove()
})

const kernelsWith = (checks: KernelChecks): PoolKernels => openPool(pool, { ...shape, lane: 1, checks })
const drillWith = async (checks: KernelChecks, turn = 0): Promise<string[]> => {
  const kernels = kernelsWith(checks)
  const findings = await drillForward({ pass: model.over(kernels, PAGE_SIZE), kernels, firstPage }, turn)
  return findings.filter(({ armed }) => !armed).map(({ detector }) => detector)
}

test('every detector of the kernel fires in one pass, and the honest sequence in it is left alone', async () => {
  const findings = await drillForward({ ...model, firstPage }, 0)
  expect(findings.map(({ detector }) => detector).sort()).toEqual(
    ['guard_row', 'not_finite', 'page_tag', 'unfilled_row', 'write_order'].sort(),
  )
  expect(findings.filter(({ armed }) => !armed)).toEqual([])
})

describe('a check that is switched off does not pass its drill', () => {
  test.each([
    ['tags', { ...ALL, tags: false }, ['page_tag']],
    ['filled rows', { ...ALL, filled: false }, ['unfilled_row', 'write_order']],
    ['guard rows', { ...ALL, guards: false }, ['guard_row']],
    ['finite numbers', { ...ALL, finite: false }, ['not_finite']],
  ] as const)('%s', async (_, checks, expected) => {
    expect((await drillWith(checks)).sort()).toEqual(expected)
  })
})

test('what an earlier drill left behind does not pass for the next one', async () => {
  for (const turn of [1, 2, 3]) expect(await drillWith(ALL, turn)).toEqual([])
})

test('a pass that loses the faults its kernels found is not armed', async () => {
  const deaf: LoadedModel['pass'] = {
    ...model.pass,
    shape,
    run: async (plan, onLayer) => {
      const { id, results } = await model.pass.run(plan, onLayer)
      return { id, results: results.map((result) => ({ ...result, fault: null })) }
    },
  }
  const findings = await drillForward({ pass: deaf, kernels: model.kernels, firstPage }, 4)
  expect(findings.every(({ armed }) => !armed)).toBe(true)
})

test('arithmetic that is not batch-invariant is a finding that names where', () => {
  expect(invarianceFinding({ kind: 'invariant' })).toMatchObject({ armed: true, detail: null })
  expect(invarianceFinding({ kind: 'variant', stage: 'middle', batch: 3 })).toMatchObject({
    detector: 'batch_invariance',
    armed: false,
    detail: expect.stringContaining('stage middle at 3 rows'),
  })
})
