import { closeSync, openSync, writeSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool } from '../kernels/index.ts'
import type { PageTable } from '../kv/index.ts'
import type { TensorType } from './gguf/tensor-types.ts'
import { loadModel } from './load.ts'
import type { SequenceResult } from './plan.ts'
import { SMALL } from './synthetic.ts'
import { Bench, bytesOf, type TestSequence, temporaryModel, tokensOf } from './testing/harness.ts'
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

  it('the start-up drill finds this CPU invariant', async () => {
    expect(await bench.model.drill()).toEqual({ kind: 'invariant' })
  })
})

describe('faults end one sequence alone', () => {
  const { path, remove } = temporaryModel({ shape, type: 'Q8_0', seed: 21, tied: true })
  let bench: Bench

  beforeAll(async () => {
    bench = await Bench.open(path, 8_000)
  })

  afterAll(async () => {
    await bench.close()
    remove()
  })

  /** Three sequences of 40 rows, their first 39 in the pool. */
  async function three(): Promise<TestSequence[]> {
    const sequences = [1, 2, 3].map((seed) => bench.sequence(tokensOf(40, shape.vocab, seed)))
    await bench.run(...sequences.map((sequence) => sequence.rows(0, 39, { sample: false })))
    return sequences
  }

  async function lastRows(sequences: readonly TestSequence[]): Promise<{
    readonly results: readonly SequenceResult[]
    readonly logits: string[]
  }> {
    bench.recorded.logits.length = 0
    const results = await bench.run(...sequences.map((sequence) => sequence.rows(39, 40)))
    return { results, logits: bench.recorded.logits.map(bytesOf) }
  }

  async function expectSecondAlone(spoil: (sequences: TestSequence[]) => void, fault: object): Promise<void> {
    const whole = await lastRows(await three())
    const sequences = await three()
    spoil(sequences)
    const { results, logits } = await lastRows(sequences)
    expect(results.map((result) => result.requestId)).toEqual(sequences.map((sequence) => sequence.requestId))
    expect(results.map((result) => result.fault)).toEqual([null, expect.objectContaining(fault), null])
    expect(results.map((result) => result.sampled !== null)).toEqual([true, false, true])
    expect(logits).toEqual([whole.logits[0], whole.logits[2]])
  }

  it('a page that has changed hands', async () => {
    await expectSecondAlone(([, second]) => second!.table.generations.fill(9, 1, 2), { kind: 'page_tag', layer: 0 })
  })

  it('a row that was never filled, found in the layer where it is missing', async () => {
    await expectSecondAlone(([, second]) => bench.kernels.markFilled(second!.table.pages[0]!, 1, 7), {
      kind: 'unfilled_row',
      layer: 1,
    })
  })

  it('a guard row that was overwritten', async () => {
    await expectSecondAlone(
      ([, second]) => {
        const { pages, owners, generations } = second!.table
        const first = (all: Uint32Array): Uint32Array => all.slice(0, 1)
        bench.kernels.retag(first(pages), first(owners), first(generations), Uint32Array.of(5))
      },
      { kind: 'guard_row', layer: 0 },
    )
  })

  it('a row that is no number', async () => {
    await expectSecondAlone(
      ([, second]) => {
        const rows = new Uint8Array(bench.kernels.rowBytes(16)).fill(255)
        bench.kernels.writeRows(second!.table.pages[1]!, 1, 16, rows)
      },
      { kind: 'not_finite', layer: 1 },
    )
  })

  it('a row that would be written twice', async () => {
    const [first, second] = await three()
    const results = await bench.run(first!.rows(39, 40), second!.rows(20, 21))
    expect(results.map((result) => result.fault?.kind)).toEqual([undefined, 'write_order'])
  })

  it('all of them: no layer runs on', async () => {
    const sequences = await three()
    for (const { table } of sequences) table.owners.fill(77)
    const layers: number[] = []
    const plan = { id: 5, sequences: sequences.map((sequence) => sequence.rows(39, 40)) }
    const { id, results } = await bench.model.pass.run(plan, (layer) => layers.push(layer))
    expect(id).toBe(5)
    expect(results.every(({ fault, sampled }) => fault?.kind === 'page_tag' && sampled === null)).toBe(true)
    expect(layers).toEqual([0])
  })

  it('logits that are no numbers end the sequence as `not_finite`', async () => {
    const wild = temporaryModel({ shape, type: 'F32', seed: 2, tied: false })
    const source = openSource(wild.path)
    const { offset } = source.layout.tensors.output
    source.close()
    const file = openSync(wild.path, 'r+')
    writeSync(file, new Uint8Array(Float32Array.of(3.4e38).buffer), 0, 4, offset)
    writeSync(file, new Uint8Array(Float32Array.of(3.4e38).buffer), 0, 4, offset + 4)
    closeSync(file)
    const other = await Bench.open(wild.path, 64)
    const plans = [1, 2, 3].map((seed) => other.sequence(tokensOf(4, shape.vocab, seed)).rows(0, 4))
    const results = await other.run(...plans)
    expect(results.map((result) => result.fault?.kind)).toContain('not_finite')
    await other.close()
    wild.remove()
  })
})

describe('a pass', () => {
  const { path, remove } = temporaryModel({ shape, type: 'Q4_0', seed: 31, tied: true })
  let bench: Bench

  beforeAll(async () => {
    bench = await Bench.open(path, 1_000)
  })

  afterAll(async () => {
    await bench.close()
    remove()
  })

  it('tells of each layer when its rows stand in the pool, and fills the last without a head', async () => {
    const sequence = bench.sequence(tokensOf(20, shape.vocab, 1))
    const [first, second] = sequence.table.pages
    const seen: number[][] = []
    await bench.model.pass.run({ id: 1, sequences: [sequence.rows(0, 20, { sample: false })] }, (layer) => {
      seen.push([layer, bench.kernels.filled(first!, layer), bench.kernels.filled(second!, layer)])
    })
    expect(seen).toEqual([
      [0, 16, 4],
      [1, 16, 4],
    ])
    expect(bench.recorded.logits).toEqual([])
  })

  it('draws the largest logit itself where that is all that is asked for', async () => {
    const greedy = { temperature: 0, topP: 1, topK: 0, seed: 1, topLogprobs: null }
    const sequence = bench.sequence(tokensOf(20, shape.vocab, 2))
    const [logits] = await bench.logits(sequence.rows(0, 20))
    const plan = { ...sequence.rows(19, 20, { write: 'recompute' }), sample: { params: greedy, sequence: 0, index: 0 } }
    bench.recorded.logits.length = 0
    const [result] = await bench.run(plan)
    expect(result!.sampled).toEqual({ token: logits!.indexOf(Math.max(...logits!)), logprob: null, top: [] })
    expect(bench.recorded.logits).toEqual([])
  })

  it('refuses a plan that cannot be, and a second run meanwhile', async () => {
    const sequence = bench.sequence(Int32Array.of(1, 2, shape.vocab))
    await expect(bench.run(sequence.rows(0, 3))).rejects.toThrow('outside the vocabulary')
    await expect(bench.run(sequence.rows(0, 0))).rejects.toThrow('plan of 0 rows')
    const running = bench.run(sequence.rows(0, 2))
    await expect(bench.run(sequence.rows(0, 2))).rejects.toThrow('running')
    await running
  })

  it('takes an empty plan', async () => {
    expect(await bench.run()).toEqual([])
  })
})

describe('loadModel refuses', () => {
  const { path, remove } = temporaryModel({ shape, type: 'Q8_0', seed: 41, tied: true })
  const checks = { tags: true, filled: true, guards: true }
  const sampler = () => ({ token: 0, logprob: null, top: [] })
  const pool = createPool(
    { pages: 4, pageSize: 16, layers: 2, heads: 4, kvHeads: 2, headDim: 16 },
    BigUint64Array.of(1n, 2n),
  )

  afterAll(remove)

  it('a file that is not the one that was inspected', async () => {
    const result = await loadModel(path, { threads: 1, sampler, pool, checks, expectDigest: 'other' })
    expect(result).toMatchObject({ kind: 'refused', code: 'wrong_weights' })
  })

  it('a pool of another shape', async () => {
    const wrong = createPool({ ...pool.shape, layers: 3 }, BigUint64Array.of(1n, 2n))
    const result = await loadModel(path, { threads: 1, sampler, pool: wrong, checks })
    expect(result).toMatchObject({ code: 'wrong_pool', message: 'the pool has layers 3, the model 2' })
  })

  it('weights that are no numbers, by the tensor', async () => {
    const source = openSource(path)
    const { offset } = source.layout.tensors.layers[1]!.up
    source.close()
    const file = openSync(path, 'r+')
    writeSync(file, Uint8Array.of(0x00, 0x7c), 0, 2, offset)
    closeSync(file)
    const result = await loadModel(path, { threads: 1, sampler, pool, checks })
    expect(result).toMatchObject({ code: 'not_finite', details: { tensor: 'blk.1.ffn_up.weight' } })
  })
})

/** Makes a sequence's pages look freshly claimed, so that its first rows may be appended again. */
function reclaim({ kernels }: Bench, { pages, owners, generations }: PageTable): void {
  kernels.claim(pages, owners, generations, Uint32Array.from(pages.keys()))
}
