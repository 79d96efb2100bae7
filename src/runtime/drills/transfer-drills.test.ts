import { expect, test } from 'vitest'
import { type Decoder, fullFences } from '../../cluster/index.ts'
import { nodeDigests } from '../../host/node/index.ts'
import { createPool, openPool } from '../../kernels/index.ts'
import { drillPages, withDrillPages } from './pages.ts'
import type { RehearsalOptions } from './rehearsal.ts'
import { transferDrills } from './transfer-drills.ts'

const SHAPE = { pages: 4, pageSize: 4, layers: 2, heads: 2, kvHeads: 1, headDim: 8 }

const findingsWith = (decoder: NonNullable<RehearsalOptions['decoder']>) => {
  const fences = fullFences()
  const pool = createPool(withDrillPages(SHAPE), BigUint64Array.of(3n, 5n))
  const { prefill, decode } = drillPages(SHAPE)
  const options = {
    worker: {
      model: 'm',
      weights: 'w',
      epoch: 7,
      shape: SHAPE,
      fences,
      crypto: nodeDigests.keyed(new Uint8Array(32).fill(1)),
      scrub: 'tags' as const,
      sweepEvery: 0,
    },
    kernels: openPool(pool, { lane: 0, checks: fences.kernel, ropeTheta: 10_000, ropeDims: 8 }),
    prefillPage: prefill,
    decodePage: decode,
    decoder,
  }
  return transferDrills(options, 'full').map((one) => one())
}
const notArmed = (decoder: NonNullable<RehearsalOptions['decoder']>) =>
  findingsWith(decoder).filter(({ armed }) => !armed)
const instead = (machine: Decoder, step: Decoder['step']): Decoder => ({
  step,
  poolUse: () => machine.poolUse(),
  poolCounts: () => machine.poolCounts(),
  audit: () => machine.audit(),
})

test('a machine as it is passes them all', () => {
  expect(notArmed((machine) => machine)).toEqual([])
})

test('a lease that stays open after the abort is not armed: a frame that comes late is placed', () => {
  const keepsLeases = (machine: Decoder): Decoder =>
    instead(machine, (event) => (event.kind === 'message' && event.message.kind === 'abort' ? [] : machine.step(event)))
  expect(notArmed(keepsLeases)).toContainEqual({
    detector: 'closed_lease',
    armed: false,
    detail: 'pages that come after the abort: expected 0 rows stand, saw 5 rows stand',
  })
})

test('a machine that hears nothing of frames passes no drill of theirs', () => {
  const deaf = (machine: Decoder): Decoder =>
    instead(machine, (event) => (event.kind === 'page_frame' ? [] : machine.step(event)))
  expect(notArmed(deaf).map(({ detector }) => detector)).toEqual(
    expect.arrayContaining(['closed_lease', 'frame_identity', 'seal']),
  )
})
