import { expect, test } from 'vitest'
import { nodeDigests, nodeRandom } from '../../host/node/index.ts'
import { drillWire } from './wire-drills.ts'

const SHAPE = { pages: 4, pageSize: 4, layers: 2, kvHeads: 1, headDim: 8 }
const drillWith = (change: Partial<typeof nodeDigests> = {}) =>
  drillWire({
    own: { role: 'decode', model: 'm', weights: 'w', epoch: 7, shape: SHAPE },
    linkKey: new Uint8Array(32).fill(2),
    digests: { ...nodeDigests, ...change },
    random: nodeRandom,
  })

test('the wire as it is finds a turned bit and a frame that comes twice, and lets an honest one through', () => {
  expect(drillWith()).toEqual({ detector: 'frame_mac', armed: true, detail: null })
})

test.each<[string, Partial<typeof nodeDigests>, string]>([
  [
    'tags that are not compared',
    { equal: () => true },
    'one bit of a header is turned: expected bad_tag, saw delivered',
  ],
  [
    'tags that are the same for all',
    { mac: () => new Uint8Array(32) },
    'one bit of a header is turned: expected bad_tag, saw delivered',
  ],
])('%s are not armed', (_, change, detail) => {
  expect(drillWith(change)).toEqual({ detector: 'frame_mac', armed: false, detail })
})

test('tags that never agree are not armed either: the honest frame does not come through', () => {
  let calls = 0
  // The four comparisons of the handshake hold; from then on none does.
  const equal = (a: Uint8Array, b: Uint8Array): boolean => nodeDigests.equal(a, b) && ++calls <= 4
  expect(drillWith({ equal })).toMatchObject({ armed: false })
})
