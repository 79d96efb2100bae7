import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PageTable } from '../kv/index.ts'
import type { TensorType } from './gguf/tensor-types.ts'
import { type WritableTensor, writeGguf } from './gguf/write.ts'
import { SMALL, syntheticMetadata, syntheticTensors } from './synthetic.ts'
import { Bench, bytesOf, temporaryModel, tokensOf } from './testing/harness.ts'
import { Reference, relativeError } from './testing/reference.ts'
import { openSource } from './weights/source.ts'

const shape = { ...SMALL, layers: 2, hidden: 64, ffn: 160, heads: 4, kvHeads: 2, vocab: 320 }

/** Int8 activations round at half a percent per product; f32 stands near the float64 truth. */
const TOLERANCE: Partial<Record<TensorType, number>> = { F32: 2e-6, Q8_0: 4e-2, Q4_0: 4e-2, Q6_K: 4e-2, F16: 4e-2 }

describe('one layer against the float64 reference', () => {
  it.each(['F32', 'Q8_0', 'Q4_0'] as TensorType[])('%s: contexts 128 and 1,024, batch 8', async (type) => {
    const { path, remove } = temporaryModel({ shape: { ...shape, layers: 1 }, type, seed: 3, tied: false })
    const bench = await Bench.open(path, 10_000)
    const reference = new Reference(openSource(path))
    for (const context of [128, 1024]) {
      const sequences = Array.from({ length: 8 }, (_, i) =>
        bench.sequence(tokensOf(i < 2 ? context : 130, shape.vocab, context + i)),
      )
      const got = await bench.logits(...sequences.map((sequence) => sequence.rows(0, sequence.tokens.length)))
      for (const i of [0, 1, 7]) {
        const expected = reference.logits(sequences[i]!.tokens).at(-1)!
        expect(relativeError(got[i]!, expected)).toBeLessThan(TOLERANCE[type]!)
      }
    }
    await bench.close()
    remove()
  })
})

describe('two layers, every held form, against the reference', () => {
  it.each(['F32', 'F16', 'Q8_0', 'Q4_0', 'Q6_K'] as TensorType[])('%s, tied and not', async (type) => {
    const wide = type === 'Q6_K' ? { ...shape, hidden: 256, ffn: 256, layers: 1 } : shape
    for (const tied of [true, false]) {
      const { path, remove } = temporaryModel({ shape: wide, type, seed: 5, tied })
      const bench = await Bench.open(path, 256)
      const tokens = tokensOf(40, wide.vocab, 9)
      const [got] = await bench.logits(bench.sequence(tokens).rows(0, 40))
      expect(relativeError(got!, new Reference(openSource(path)).logits(tokens).at(-1)!)).toBeLessThan(TOLERANCE[type]!)
      await bench.close()
      remove()
    }
  })
})

describe('rotary embedding as the file scales it', () => {
  it.each(['rope_freqs.weight', 'llama.rope.scaling.factor'])('%s', async (what) => {
    const options = { shape, type: 'F32', seed: 7, tied: true } as const
    const { path, remove } = temporaryModel(options)
    const factors = Float32Array.from({ length: shape.hidden / shape.heads / 2 }, (_, i) => 1 + i / 2)
    const tensor: WritableTensor = {
      name: 'rope_freqs.weight',
      type: 'F32',
      dims: [factors.length],
      pieces: () => [new Uint8Array(factors.buffer)],
    }
    const linear = { 'llama.rope.scaling.type': { string: 'linear' }, 'llama.rope.scaling.factor': { f32: 4 } }
    const byTensor = what === tensor.name
    writeGguf(path, { ...syntheticMetadata(options), ...(byTensor ? {} : linear) }, [
      ...syntheticTensors(options),
      ...(byTensor ? [tensor] : []),
    ])
    const bench = await Bench.open(path, 256)
    const tokens = tokensOf(60, shape.vocab, 4)
    const [got] = await bench.logits(bench.sequence(tokens).rows(0, 60))
    expect(relativeError(got!, new Reference(openSource(path)).logits(tokens).at(-1)!)).toBeLessThan(2e-6)
    await bench.close()
    remove()
  })
})

describe.each(['F32', 'Q8_0', 'Q4_0'] as TensorType[])('%s: bits', (type) => {
  const { path, remove } = temporaryModel({ shape, type, seed: 11, tied: true })
  let bench: Bench

  beforeAll(async () => {
    bench = await Bench.open(path, 24_000, { threads: 2 })
  })

  afterAll(async () => {
    await bench.close()
    remove()
  })

  it('a row alone equals the same row in batches of 1 to 64, odd and even, at any place', async () => {
    const probe = tokensOf(21, shape.vocab, 1)
    const [alone] = await bench.logits(bench.sequence(probe).rows(0, 21))
    const others = Array.from({ length: 63 }, (_, i) => bench.sequence(tokensOf(3, shape.vocab, i), 4))
    for (const batch of [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64]) {
      const sequence = bench.sequence(probe)
      await bench.run(sequence.rows(0, 20, { sample: false }))
      const place = (batch * 7) % batch
      const plans = others.slice(0, batch - 1).map((other, i) => other.rows(0, 1 + (i % 3), { sample: i % 2 === 0 }))
      for (const { table } of plans) reclaim(bench, table)
      plans.splice(place, 0, sequence.rows(20, 21))
      const got = await bench.logits(...plans)
      const sampledBefore = plans.slice(0, place).filter((plan) => plan.sample !== null).length
      expect(bytesOf(got[sampledBefore]!)).toBe(bytesOf(alone!))
    }
  })

  it('whole = chunked = stepped = recomputed', async () => {
    const tokens = tokensOf(150, shape.vocab, 2)
    const [whole] = await bench.logits(bench.sequence(tokens).rows(0, 150))
    for (const cuts of [[128], [1, 2, 50], [37, 100, 149], Array.from({ length: 149 }, (_, i) => i + 1)]) {
      const sequence = bench.sequence(tokens)
      let got: Float32Array[] = []
      const ends = [...cuts, 150]
      for (const [i, end] of ends.entries()) {
        got = await bench.logits(sequence.rows(ends[i - 1] ?? 0, end, { sample: end === 150 }))
      }
      expect(bytesOf(got[0]!)).toBe(bytesOf(whole!))
      const [again] = await bench.logits(sequence.rows(149, 150, { write: 'recompute' }))
      expect(bytesOf(again!)).toBe(bytesOf(whole!))
    }
  })

  it('one thread = two threads', async () => {
    const tokens = tokensOf(100, shape.vocab, 3)
    const [two] = await bench.logits(bench.sequence(tokens).rows(0, 100))
    const single = await Bench.open(path, 128, { threads: 1 })
    const [one] = await single.logits(single.sequence(tokens).rows(0, 100))
    await single.close()
    expect(bytesOf(one!)).toBe(bytesOf(two!))
  })

  it('the start-up drill finds this CPU invariant', async () => {
    expect(await bench.model.drill()).toEqual({ kind: 'invariant' })
  })
})

/** Makes a sequence's pages look freshly claimed, so that its first rows may be appended again. */
function reclaim({ kernels }: Bench, { pages, owners, generations }: PageTable): void {
  kernels.claim(pages, owners, generations, Uint32Array.from(pages.keys()))
}
