import { expect, it } from 'vitest'
import type { DenseStack } from './dense.ts'
import { invarianceDrill } from './drill.ts'
import type { ModelShape } from './types.ts'

const shape: ModelShape = {
  layers: 2,
  hidden: 8,
  ffn: 8,
  heads: 2,
  kvHeads: 1,
  headDim: 4,
  vocab: 8,
  contextLength: 16,
  ropeTheta: 10_000,
  ropeDims: 4,
  normEps: 1e-5,
}

/** Row-wise arithmetic, but for what `slip` does to the rows of one stage. */
function stack(
  stage: string,
  slip: (x: Float32Array, rows: number) => void,
): Pick<DenseStack, 'first' | 'middle' | 'last'> {
  const run = (name: string, x: Float32Array): Float32Array => {
    const out = x.map((value) => Math.fround(value * 3 + 1))
    if (name === stage) slip(out, x.length / shape.hidden)
    return out
  }
  return {
    first: async (x) => run('first', x),
    middle: async (_, x) => ({ x: x.slice(), qkv: run('middle', x) }),
    last: async (x) => ({ tokens: new BigInt64Array(), sums: new Float32Array(), logits: run('last', x) }),
  }
}

const nextFloat = (x: Float32Array, at: number): void => {
  new Uint32Array(x.buffer, x.byteOffset)[at]!++
}

it('passes arithmetic that is row by row', async () => {
  expect(
    await invarianceDrill(
      stack('none', () => undefined),
      shape,
    ).full(),
  ).toEqual({ kind: 'invariant' })
})

it.each(['first', 'middle', 'last'])('finds one bit of a lone row in the %s stage', async (stage) => {
  const slip = (x: Float32Array, rows: number): void => {
    if (rows === 1) nextFloat(x, 3)
  }
  expect(await invarianceDrill(stack(stage, slip), shape).full()).toEqual({ kind: 'variant', stage, batch: 1 })
})

it('finds one bit in the last row of odd batches', async () => {
  const slip = (x: Float32Array, rows: number): void => {
    if (rows % 2 === 1 && rows > 1) nextFloat(x, x.length - 1)
  }
  expect(await invarianceDrill(stack('middle', slip), shape).full()).toEqual({
    kind: 'variant',
    stage: 'middle',
    batch: 3,
  })
})

it('a later drill goes through every stage and small batch by turns, and a finding stays', async () => {
  let broken = false
  const slip = (x: Float32Array, rows: number): void => {
    if (broken && rows === 2) nextFloat(x, 3)
  }
  const drill = invarianceDrill(stack('last', slip), shape)
  expect(await drill.full()).toEqual({ kind: 'invariant' })
  broken = true
  const seen = []
  for (let turn = 0; turn < 9; turn++) seen.push((await drill.again(turn)).kind)
  expect(seen).toEqual([...Array(5).fill('invariant'), ...Array(4).fill('variant')])
  broken = false
  expect(await drill.again(0)).toEqual({ kind: 'variant', stage: 'last', batch: 2 })
})
