import { closeSync, openSync, writeSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool } from '../kernels/index.ts'
import { loadModel } from './load.ts'
import type { SequenceResult } from './plan.ts'
import { SMALL } from './synthetic.ts'
import { Bench, bytesOf, type TestSequence, temporaryModel, tokensOf } from './testing/harness.ts'
import { openSource } from './weights/source.ts'

const shape = { ...SMALL, layers: 2, hidden: 64, ffn: 160, heads: 4, kvHeads: 2, vocab: 320 }

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
      { kind: 'not_finite', page: expect.any(Number), layer: 1 },
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
