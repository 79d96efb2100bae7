import type { PoolKernels } from '../kernels/index.ts'
import { Batch } from './batch.ts'
import type { DenseStack } from './dense.ts'
import type { ForwardPlan, ForwardResult, SampledToken, SampleRequest, SequencePlan } from './plan.ts'
import type { ForwardPass, ModelShape, Sampler } from './types.ts'
import type { EmbeddingTable } from './weights/embedding.ts'

export interface ForwardParts {
  readonly shape: ModelShape
  readonly embedding: EmbeddingTable
  readonly dense: DenseStack
  readonly kernels: PoolKernels
  readonly pageSize: number
  readonly sampler: Sampler
  readonly close: () => Promise<void>
}

/**
 * embed, then per layer: projections, attention over pages, the rest of the layer; then the head for the rows that want a
 * token. A sequence with a fault leaves the batch where the fault is found; the bits of the others do not change, since no
 * row's bits depend on the rows beside it.
 */
export class PagedForwardPass implements ForwardPass {
  readonly shape: ModelShape
  readonly #parts: ForwardParts
  #running = false
  #embedded = new Float32Array(0)
  #attended = new Float32Array(0)

  constructor(parts: ForwardParts) {
    this.shape = parts.shape
    this.#parts = parts
  }

  async run(plan: ForwardPlan, onLayer: (layer: number) => void): Promise<ForwardResult> {
    if (this.#running) throw new Error('a forward pass is running')
    this.#running = true
    try {
      return await this.#run(plan, onLayer)
    } finally {
      this.#running = false
    }
  }

  close(): Promise<void> {
    return this.#parts.close()
  }

  async #run(plan: ForwardPlan, onLayer: (layer: number) => void): Promise<ForwardResult> {
    const { shape } = this
    const { dense } = this.#parts
    for (const sequence of plan.sequences) this.#expectWellFormed(sequence)
    const batch = new Batch(plan.sequences)
    let x = batch.rows === 0 ? new Float32Array(0) : this.#embed(batch)
    let qkv = batch.rows === 0 ? x : await dense.first(x)
    const width = shape.heads * shape.headDim
    for (let layer = 0; layer < shape.layers && batch.rows > 0; layer++) {
      const out = this.#attend(layer, batch, qkv)
      batch.drop({ data: x, width: shape.hidden }, { data: out, width })
      onLayer(layer)
      x = x.subarray(0, batch.rows * shape.hidden)
      const attended = out.subarray(0, batch.rows * width)
      if (layer === shape.layers - 1) await this.#sample(batch, x, attended)
      else if (batch.rows > 0) ({ x, qkv } = await dense.middle(layer, x, attended))
    }
    this.#checkWritten(batch)
    return { id: plan.id, results: batch.results() }
  }

  #embed(batch: Batch): Float32Array {
    const { hidden } = this.shape
    this.#embedded = atLeast(this.#embedded, batch.rows * hidden)
    let row = 0
    for (const { plan } of batch.active) {
      this.#parts.embedding.lookUp(plan.tokens, this.#embedded, row * hidden)
      row += plan.tokens.length
    }
    return this.#embedded.subarray(0, row * hidden)
  }

  /** rows x heads x headDim; sequences with a fault are marked, and their rows still stand in the result. */
  #attend(layer: number, batch: Batch, qkv: Float32Array): Float32Array {
    const width = this.shape.heads * this.shape.headDim
    this.#attended = atLeast(this.#attended, batch.rows * width)
    const out = this.#attended.subarray(0, batch.rows * width)
    const active = batch.active
    const views = active.map(({ plan }) => ({
      table: plan.table,
      start: plan.start,
      rows: plan.tokens.length,
      write: plan.write,
    }))
    for (const { sequence, kind, page } of this.#parts.kernels.attention(layer, views, qkv, out)) {
      batch.fault(active[sequence]!, { kind, page, layer })
    }
    return out
  }

  async #sample(batch: Batch, x: Float32Array, attended: Float32Array): Promise<void> {
    const wanted = batch.active.filter(({ plan }) => plan.sample !== null)
    if (wanted.length === 0) return
    const { hidden, heads, headDim, vocab, layers } = this.shape
    const rows = wanted.map((entry) => batch.lastRowOf(entry))
    const needsLogits = wanted.some(({ plan }) => !isGreedy(plan.sample!))
    const head = await this.#parts.dense.last(
      gather(x, hidden, rows),
      gather(attended, heads * headDim, rows),
      needsLogits,
    )
    wanted.forEach((entry, i) => {
      if (!Number.isFinite(head.sums[i])) {
        batch.fault(entry, { kind: 'not_finite', page: -1, layer: layers - 1 })
        return
      }
      const request = entry.plan.sample!
      const sampled: SampledToken =
        isGreedy(request) || head.logits === null
          ? { token: Number(head.tokens[i]), logprob: null, top: [] }
          : this.#parts.sampler(head.logits.subarray(i * vocab, (i + 1) * vocab), request)
      batch.sampled(entry, sampled)
    })
  }

  /** Guard rows of the pages that were written; those of pages that are read, the attention kernel judges before it reads. */
  #checkWritten(batch: Batch): void {
    const { kernels, pageSize } = this.#parts
    for (const entry of batch.active) {
      const { table, start, tokens, write } = entry.plan
      if (write === 'recompute') continue
      const first = Math.floor(start / pageSize)
      const wrong = kernels.checkGuards(table, Math.ceil((start + tokens.length) / pageSize), first)
      if (wrong !== null) batch.fault(entry, { kind: 'guard_row', page: wrong.page, layer: wrong.layer })
    }
  }

  /** A plan that breaks these is a fault of the scheduler, not of a request: the pass throws. */
  #expectWellFormed({ tokens, start, table }: SequencePlan): void {
    const { vocab } = this.shape
    const covered = table.pages.length * this.#parts.pageSize
    if (tokens.length === 0 || start < 0 || start + tokens.length > covered) {
      throw new RangeError(`plan of ${tokens.length} rows at ${start} over pages for ${covered}`)
    }
    for (const token of tokens) {
      if (token < 0 || token >= vocab) throw new RangeError(`token ${token} is outside the vocabulary of ${vocab}`)
    }
  }
}

/** Greedy without log-probabilities: the index of the largest logit is the whole answer. */
function isGreedy({ params }: SampleRequest): boolean {
  return params.temperature === 0 && params.topLogprobs === null
}

function atLeast(buffer: Float32Array<ArrayBuffer>, length: number): Float32Array<ArrayBuffer> {
  return buffer.length >= length ? buffer : new Float32Array(length)
}

/** The named rows, in their order; the input itself where that is all of it. */
function gather(data: Float32Array, width: number, rows: readonly number[]): Float32Array {
  if (rows.length * width === data.length) return data
  const gathered = new Float32Array(rows.length * width)
  rows.forEach((row, i) => {
    gathered.set(data.subarray(row * width, (row + 1) * width), i * width)
  })
  return gathered
}
