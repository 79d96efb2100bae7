import { describe, expect, test } from 'vitest'
import { type Fences, fullFences } from '../../cluster/index.ts'
import { nodeDigests, nodeRandom } from '../../host/node/index.ts'
import {
  createPool,
  type NeighbourPool,
  openNeighbour,
  openPool,
  type PoolKernels,
  type PoolMemory,
} from '../../kernels/index.ts'
import { fencesWithout } from '../../lab/partial-fences.ts'
import { detectors, detectorsOf } from './detectors.ts'
import { withDrillPages } from './pages.ts'
import { workerDrills } from './worker-drills.ts'

const SHAPE = { pages: 4, pageSize: 4, layers: 2, heads: 2, kvHeads: 1, headDim: 8 }
const OF_FORWARD_THREAD = ['page_tag', 'unfilled_row', 'guard_row', 'write_order', 'not_finite', 'batch_invariance']
const OF_MAIN_THREAD = detectors.filter((detector) => !OF_FORWARD_THREAD.includes(detector))

const newPool = (): PoolMemory => createPool(withDrillPages(SHAPE), BigUint64Array.of(3n, 5n))
const kernelsWith = (fences: Fences, pool = newPool()): PoolKernels =>
  openPool(pool, { lane: 0, checks: fences.kernel, ropeTheta: 10_000, ropeDims: 8 })

const drillShared = (fences: Fences, change: Partial<NeighbourPool> = {}, pool = newPool()) =>
  drill(fences, kernelsWith(fences, pool), 'full', { ...openNeighbour(pool, pool), ...change })

const drill = (
  fences = fullFences(),
  kernels = kernelsWith(fences),
  integrity: 'full' | 'tags' = 'full',
  itself?: NeighbourPool,
) =>
  workerDrills({
    worker: {
      model: 'm',
      weights: 'w',
      epoch: 7,
      shape: SHAPE,
      fences,
      crypto: nodeDigests.keyed(new Uint8Array(32).fill(1)),
      scrub: 'tags',
      sweepEvery: 256,
      transport: itself ? 'shared' : 'socket',
    },
    kernels,
    ...(itself && { itself }),
    own: { role: 'prefill', model: 'm', weights: 'w', epoch: 7, shape: SHAPE },
    linkKey: new Uint8Array(32).fill(2),
    digests: nodeDigests,
    random: nodeRandom,
    integrity,
  }).map((one) => one())

const silentOnes = (findings: ReturnType<typeof drill>): string[] =>
  findings.filter(({ armed }) => !armed).map(({ detector }) => detector)

test('with the fences a server has, every detector fires and is silent on the honest case', () => {
  const findings = drill()
  expect(findings.filter(({ armed }) => !armed)).toEqual([])
  expect(findings.map(({ detector }) => detector).sort()).toEqual([...OF_MAIN_THREAD].sort())
})

test('a second drill on the same pages finds the same', () => {
  const kernels = kernelsWith(fullFences())
  drill(fullFences(), kernels)
  expect(silentOnes(drill(fullFences(), kernels))).toEqual([])
})

describe('a detector that is switched off does not pass its drill', () => {
  const full = fullFences()
  const cases: readonly (readonly [string, Fences, readonly string[]])[] = [
    ['R3', fencesWithout('R3'), ['ticket']],
    ['R4', fencesWithout('R4'), ['contract']],
    ['R5 owners', { ...full, pages: { ...full.pages, owner: () => true } }, ['stale_handle']],
    ['R5 rows', { ...full, pages: { ...full.pages, filled: () => true } }, ['unfilled_page']],
    ['guard rows', { ...full, kernel: { ...full.kernel, guards: false } }, ['guard_sweep']],
    // Pages that go home too early trip the honest case as well.
    ['R6', fencesWithout('R6'), ['fenced_free', 'row_identity', 'ticket']],
    ['R7', fencesWithout('R7'), ['conservation']],
    ['R8', fencesWithout('R8'), ['seal']],
    ['R10', fencesWithout('R10'), ['frame_identity', 'row_identity']],
  ]
  test.each(cases)('%s', (_, fences, expected) => {
    expect(silentOnes(drill(fences)).sort()).toEqual([...expected].sort())
  })
})

describe('over a shared memory', () => {
  test('every detector but that of the wire fires and is silent on the honest case, again and again', () => {
    const pool = newPool()
    for (let turn = 0; turn < 2; turn++) {
      const findings = drillShared(fullFences(), {}, pool)
      expect(findings.filter(({ armed }) => !armed)).toEqual([])
      const expected = OF_MAIN_THREAD.filter((detector) => detector !== 'frame_mac')
      expect(findings.map(({ detector }) => detector).sort()).toEqual(expected.sort())
      expect(detectorsOf({ integrity: 'full', transport: 'shared' })).not.toContain('frame_mac')
    }
  })

  test('a fence that lets pages go before the writer has given its word is not armed', () => {
    expect(silentOnes(drillShared(fencesWithout('R6')))).toContain('closed_lease')
  })

  test('stores that go wrong, or go on after their page was taken back, are found', () => {
    const nowhere = drillShared(fullFences(), { storeRows: () => undefined })
    expect(silentOnes(nowhere)).toEqual(expect.arrayContaining(['ticket', 'closed_lease']))
    const fences = fullFences()
    const untagged: Fences = { ...fences, kernel: { ...fences.kernel, tags: false } }
    expect(drillShared(untagged).find(({ detector }) => detector === 'closed_lease')).toMatchObject({
      armed: false,
      detail: expect.stringContaining('taken back'),
    })
  })
})

test('a seal that is always the same is not armed', () => {
  const same = () => new Uint8Array(16)
  const kernels = { ...kernelsWith(fullFences()), seal: same, sealRows: same }
  expect(drill(fullFences(), kernels).find(({ detector }) => detector === 'seal')).toMatchObject({
    armed: false,
    detail: 'one bit of a page is turned: expected R8 kv_integrity, saw running',
  })
})

test('frames that never arrive do not pass for frames that were discarded', () => {
  const kernels = { ...kernelsWith(fullFences()), markFilled: () => undefined }
  expect(drill(fullFences(), kernels).find(({ detector }) => detector === 'closed_lease')).toMatchObject({
    armed: false,
    detail: 'pages that come in time: expected 5 rows stand, saw 0 rows stand',
  })
})

test('an alarm that rings on the honest case is not armed', () => {
  const full = fullFences()
  const jumpy: Fences = { ...full, identity: () => false }
  const findings = drill(jumpy)
  expect(findings.find(({ detector }) => detector === 'ticket')).toMatchObject({ armed: false })
})

test('pages of requests are not touched', () => {
  const kernels = kernelsWith(fullFences())
  const pages = Uint32Array.from({ length: SHAPE.pages }, (_, page) => page)
  const owners = pages.map(() => 9)
  kernels.claim(pages, owners, owners, pages)
  const rows = new Uint8Array(kernels.rowBytes(4)).fill(7)
  for (const page of pages) kernels.writeRows(page, 1, 4, rows)
  drill(fullFences(), kernels)
  expect(kernels.checkGuards({ pages, owners, generations: owners })).toBeNull()
  for (const page of pages) {
    const now = new Uint8Array(rows.length)
    kernels.readRows(page, 1, 4, now)
    expect([kernels.tag(page).owner, Buffer.compare(now, rows)]).toEqual([9, 0])
  }
})

test('served without seals, the seal is not drilled', () => {
  const findings = drill(fullFences('tags'), kernelsWith(fullFences()), 'tags')
  expect(silentOnes(findings)).toEqual([])
  expect(findings.map(({ detector }) => detector)).not.toContain('seal')
  expect(detectorsOf({ integrity: 'tags', transport: 'socket' })).not.toContain('seal')
})
