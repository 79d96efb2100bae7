import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPool, openPool, type PoolKernels } from '../../kernels/index.ts'
import { inspectModel } from '../inspect.ts'
import { loadModel } from '../load.ts'
import type { ForwardPlan, SequencePlan, SequenceResult } from '../plan.ts'
import { poolShape } from '../pool-shape.ts'
import { type SyntheticOptions, writeSyntheticModel } from '../synthetic.ts'
import type { LoadedModel, Sampler } from '../types.ts'

/** Keeps a copy of every row of logits it is shown; draws the largest. */
export class RecordingSampler {
  readonly logits: Float32Array[] = []

  readonly sample: Sampler = (logits) => {
    this.logits.push(logits.slice())
    return { token: logits.indexOf(Math.max(...logits)), logprob: null, top: [] }
  }
}

/** A loaded model over a pool of its own, and pages handed out front to back. */
export class Bench {
  readonly model: LoadedModel
  readonly kernels: PoolKernels
  readonly recorded: RecordingSampler
  readonly #pageSize: number
  #nextPage = 0
  #nextOwner = 1
  #nextPlan = 0

  private constructor(model: LoadedModel, kernels: PoolKernels, recorded: RecordingSampler, pageSize: number) {
    this.model = model
    this.kernels = kernels
    this.recorded = recorded
    this.#pageSize = pageSize
  }

  static async open(path: string, tokens: number, { threads = 1, pageSize = 16 } = {}): Promise<Bench> {
    const inspection = await inspectModel(path)
    if (inspection.kind !== 'ok') throw new Error(inspection.message)
    const pool = createPool(poolShape(inspection.shape, tokens, pageSize), BigUint64Array.of(1n, 2n))
    const recorded = new RecordingSampler()
    const checks = { tags: true, filled: true, guards: true }
    const model = await loadModel(path, { threads, sampler: recorded.sample, pool, checks })
    if (model.kind !== 'ok') throw new Error(model.message)
    const kernels = openPool(pool, { ...inspection.shape, lane: 1, checks })
    return new Bench(model, kernels, recorded, pageSize)
  }

  /** Claims pages for a sequence of up to `positions`. */
  sequence(tokens: ArrayLike<number>, positions = tokens.length): TestSequence {
    const count = Math.ceil(positions / this.#pageSize)
    const owner = this.#nextOwner++
    const pages = Uint32Array.from({ length: count }, () => this.#nextPage++)
    const owners = new Uint32Array(count).fill(owner)
    const generations = new Uint32Array(count).fill(1)
    this.kernels.claim(
      pages,
      owners,
      generations,
      pages.map((_, i) => i),
    )
    return new TestSequence(`r${owner}`, Int32Array.from(tokens), { pages, owners, generations })
  }

  async run(...sequences: SequencePlan[]): Promise<readonly SequenceResult[]> {
    const plan: ForwardPlan = { id: this.#nextPlan++, sequences }
    return (await this.model.pass.run(plan, () => undefined)).results
  }

  /** Runs one pass and gives the logits of the sequences that wanted a sample, in order. */
  async logits(...sequences: SequencePlan[]): Promise<Float32Array[]> {
    this.recorded.logits.length = 0
    for (const { fault } of await this.run(...sequences)) {
      if (fault !== null) throw new Error(`fault ${fault.kind}`)
    }
    return [...this.recorded.logits]
  }

  close(): Promise<void> {
    return this.model.pass.close()
  }
}

/** Asks for log-probabilities, so that the sampler sees the logits. */
const SAMPLE = {
  params: { temperature: 0, topP: 1, topK: 0, seed: 1, topLogprobs: 0 },
  sequence: 0,
  index: 0,
}

export class TestSequence {
  readonly requestId: string
  readonly tokens: Int32Array
  readonly table: SequencePlan['table']

  constructor(requestId: string, tokens: Int32Array, table: SequencePlan['table']) {
    this.requestId = requestId
    this.tokens = tokens
    this.table = table
  }

  /** Rows `from … to - 1`, appended; with a sample after the last unless told otherwise. */
  rows(from: number, to: number, { sample = true, write = 'append' as SequencePlan['write'] } = {}): SequencePlan {
    return {
      requestId: this.requestId,
      attempt: 1,
      tokens: this.tokens.slice(from, to),
      start: from,
      write,
      table: this.table,
      sample: sample ? SAMPLE : null,
    }
  }
}

/** A synthetic model in a folder of its own, removed by `remove`. */
export function temporaryModel(options: SyntheticOptions): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-model-'))
  const path = join(folder, 'model.gguf')
  writeSyntheticModel(path, options)
  return { path, remove: () => rmSync(folder, { recursive: true }) }
}

/** Made-up token ids, the same for the same seed. */
export function tokensOf(count: number, vocab: number, seed: number): Int32Array {
  return Int32Array.from(
    { length: count },
    (_, i) => Math.abs(Math.trunc(Math.sin(seed * 977 + i * 31.7) * 1e6)) % vocab,
  )
}

export function bytesOf(values: Float32Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64')
}
