import { createPool, openPool } from '../kernels/index.ts'
import type { ModelRefusal } from './errors.ts'
import { inspectModel } from './inspect.ts'
import { loadModel } from './load.ts'
import type { SequencePlan } from './plan.ts'
import { poolShape } from './pool-shape.ts'
import type { ForwardPass, ModelShape } from './types.ts'

export interface EngineBenchOptions {
  readonly path: string
  readonly threads: number
  /** Monotonic clock in milliseconds. */
  readonly now: () => number
  /** Peak resident memory of this process so far, in bytes. */
  readonly peakMemory: () => number
  /** Rows of a prefill chunk; default 128: larger ones outgrow the cache, are no faster and take more memory. */
  readonly chunk?: number
  /** Steps per decode figure; default 20. The figure is their median. */
  readonly steps?: number
  readonly batches?: readonly number[]
  readonly contexts?: readonly number[]
  readonly prefills?: readonly number[]
  /** Called with each figure as it is measured. */
  readonly onFigure?: (figure: DecodeFigure | PrefillFigure) => void
}

export interface DecodeFigure {
  readonly kind: 'decode'
  readonly batch: number
  readonly context: number
  readonly tokensPerSecond: number
  readonly stepMs: { readonly p50: number; readonly p99: number }
}

export interface PrefillFigure {
  readonly kind: 'prefill'
  readonly tokens: number
  readonly tokensPerSecond: number
}

export interface EngineBench {
  readonly kind: 'ok'
  readonly threads: number
  readonly decode: readonly DecodeFigure[]
  readonly prefill: readonly PrefillFigure[]
  readonly loadMs: number
  readonly poolBytes: number
  readonly heldBytes: number
  readonly peakBytes: number
  /** heldBytes x 1.3 + pool + 250 MB. */
  readonly peakLimitBytes: number
}

const PAGE_SIZE = 16
const GREEDY = { temperature: 0, topP: 1, topK: 0, seed: 0, topLogprobs: null }
const REPEATS = 3

/**
 * Measures the engine alone: forward passes with every check on, greedy, over made-up tokens. Contexts beyond the model's own
 * are left out. Weights decide nothing about speed, so synthetic files will do.
 */
export async function benchEngine(options: EngineBenchOptions): Promise<EngineBench | ModelRefusal> {
  const { path, threads, now, steps = 20, chunk = 128 } = options
  const { batches = [1, 8, 32], contexts = [128, 1024], prefills = [512, 2048], onFigure = () => undefined } = options
  const inspection = await inspectModel(path)
  if (inspection.kind !== 'ok') return inspection
  const { shape, heldBytes, digest } = inspection
  const longest = shape.contextLength - steps
  const decodeCases = contexts.filter((context) => context <= longest)
  const prefillCases = prefills.filter((tokens) => tokens <= shape.contextLength)
  const rows = Math.max(
    ...decodeCases.map((context) => Math.max(...batches) * pageUp(context + steps)),
    ...prefillCases,
  )
  const pool = createPool(poolShape(shape, pageUp(rows), PAGE_SIZE), BigUint64Array.of(1n, 2n))
  const checks = { tags: true, filled: true, guards: true }
  const start = now()
  // Greedy without log-probabilities never asks the sampler.
  const sampler = (): never => {
    throw new Error('a greedy pass asked for a sampler')
  }
  const loaded = await loadModel(path, { threads, sampler, pool, checks, expectDigest: digest })
  if (loaded.kind !== 'ok') return loaded
  const loadMs = now() - start
  const run = new BenchRun(loaded.pass, openPool(pool, { ...shape, lane: 1, checks }), shape, now)
  const decode: DecodeFigure[] = []
  const prefill: PrefillFigure[] = []
  for (const context of decodeCases) {
    for (const batch of batches) {
      const figure = await run.decode(batch, context, steps)
      decode.push(figure)
      onFigure(figure)
    }
  }
  for (const tokens of prefillCases) {
    const figure = await run.prefill(tokens, chunk)
    prefill.push(figure)
    onFigure(figure)
  }
  await loaded.pass.close()
  const poolBytes = pool.memory.buffer.byteLength
  return {
    kind: 'ok',
    threads,
    decode,
    prefill,
    loadMs,
    poolBytes,
    heldBytes,
    peakBytes: options.peakMemory(),
    peakLimitBytes: heldBytes * 1.3 + poolBytes + 250e6,
  }
}

class BenchRun {
  readonly #pass: ForwardPass
  readonly #kernels: ReturnType<typeof openPool>
  readonly #shape: ModelShape
  readonly #now: () => number

  constructor(pass: ForwardPass, kernels: ReturnType<typeof openPool>, shape: ModelShape, now: () => number) {
    this.#pass = pass
    this.#kernels = kernels
    this.#shape = shape
    this.#now = now
  }

  async decode(batch: number, context: number, steps: number): Promise<DecodeFigure> {
    const pages = pageUp(context + steps) / PAGE_SIZE
    const tables = Array.from({ length: batch }, (_, i) => this.#claim(i * pages, pages, i + 1))
    for (const table of tables) this.#fillMadeUp(table, context)
    const times: number[] = []
    for (let step = 0; step < steps; step++) {
      const position = context + step
      times.push(await this.#time(tables.map((table, i) => this.#rows(table, position, 1, i, true))))
    }
    times.sort((a, b) => a - b)
    const p50 = quantile(times, 0.5)
    const stepMs = { p50, p99: quantile(times, 0.99) }
    return { kind: 'decode', batch, context, tokensPerSecond: (batch * 1000) / p50, stepMs }
  }

  async prefill(tokens: number, chunk: number): Promise<PrefillFigure> {
    const times: number[] = []
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      times.push(await this.#prefill(this.#claim(0, pageUp(tokens) / PAGE_SIZE, 1), tokens, chunk))
    }
    times.sort((a, b) => a - b)
    return { kind: 'prefill', tokens, tokensPerSecond: (tokens * 1000) / quantile(times, 0.5) }
  }

  /** Rows that were never computed: a decode step reads them all the same, and long contexts stand in no time. */
  #fillMadeUp({ pages }: SequencePlan['table'], tokens: number): void {
    const kernels = this.#kernels
    const rows = Float32Array.from({ length: kernels.rowBytes(PAGE_SIZE) / 4 }, (_, i) => Math.sin(i * 0.7))
    const bytes = new Uint8Array(rows.buffer)
    for (let layer = 0; layer < this.#shape.layers; layer++) {
      for (let start = 0; start < tokens; start += PAGE_SIZE) {
        const page = pages[start / PAGE_SIZE]!
        const count = Math.min(PAGE_SIZE, tokens - start)
        kernels.writeRows(page, layer, count, bytes.subarray(0, kernels.rowBytes(count)))
        kernels.markFilled(page, layer, count)
      }
    }
  }

  async #prefill(table: SequencePlan['table'], tokens: number, chunk: number): Promise<number> {
    let ms = 0
    for (let start = 0; start < tokens; start += chunk) {
      ms += await this.#time([this.#rows(table, start, Math.min(chunk, tokens - start), 0, false)])
    }
    return ms
  }

  async #time(sequences: readonly SequencePlan[]): Promise<number> {
    const start = this.#now()
    const { results } = await this.#pass.run({ id: 0, sequences }, () => undefined)
    const ms = this.#now() - start
    const fault = results.find((result) => result.fault !== null)?.fault
    if (fault) throw new Error(`the bench's own pages gave a fault: ${fault.kind}`)
    return ms
  }

  #rows(table: SequencePlan['table'], start: number, count: number, sequence: number, sample: boolean): SequencePlan {
    const { vocab } = this.#shape
    const tokens = Int32Array.from({ length: count }, (_, i) => (7919 * (start + i + 1) + 104_729 * sequence) % vocab)
    return {
      requestId: `bench-${sequence}`,
      attempt: 1,
      tokens,
      start,
      write: 'append',
      table,
      sample: sample ? { params: GREEDY, sequence: 0, index: 0 } : null,
    }
  }

  #claim(first: number, count: number, owner: number): SequencePlan['table'] {
    const pages = Uint32Array.from({ length: count }, (_, i) => first + i)
    const owners = new Uint32Array(count).fill(owner)
    const generations = new Uint32Array(count).fill(1)
    this.#kernels.claim(pages, owners, generations, Uint32Array.from(pages.keys()))
    return { pages, owners, generations }
  }
}

function pageUp(tokens: number): number {
  return Math.ceil(tokens / PAGE_SIZE) * PAGE_SIZE
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!
}
