import type { DigestTools } from '../../host/index.ts'
import { benchSeals, createPool, openPool, type PoolKernels, type SealSpeed } from '../../kernels/index.ts'
import { lineageKey } from '../../kv/index.ts'
import {
  type ForwardPass,
  inspectModel,
  loadModel,
  type ModelRefusal,
  type ModelShape,
  poolShape,
  type SequencePlan,
} from '../../model/index.ts'
import { type Arm, measurePairs, type Overhead } from './pairs.ts'

export const SCRUBS = ['tags', 'zero', 'poison'] as const
export type Scrub = (typeof SCRUBS)[number]

export interface IntegrityBenchOptions {
  readonly path: string
  readonly threads: number
  /** Rows of a prefill chunk. */
  readonly chunk: number
  /** At least so many of each case. */
  readonly pairs: number
  /** Of the scrub modes, which cost little and take their time on large models. */
  readonly scrubPairs: number
  readonly now: () => number
  readonly digests: DigestTools
  readonly onProgress: (line: string) => void
}

export interface IntegrityBench {
  readonly kind: 'ok'
  readonly threads: number
  readonly chunk: number
  /** A step of eight sequences with tags, filled rows, guard rows and finite sums checked, against `off`. */
  readonly decode: Overhead
  /**
   * What verifying seals adds: pages come in with a prompt and not with a step, so a burst of them is timed every sixteen
   * steps, as many pages as those steps fill, and given in per cent of the steps; it lies on another thread than they do.
   */
  readonly arrival: { readonly pageMicros: number; readonly perCent: number }
  /** A chunk with the defaults, its pages sealed, against `off`. */
  readonly prefill: Overhead
  /** A step of sixteen sequences, after which one page is freed, against one after which none is. */
  readonly scrub: Readonly<Record<Scrub, Overhead>>
  /** Microseconds of one page over all layers. */
  readonly pageMicros: Readonly<Record<'claim' | `retire_${Scrub}`, number>>
  readonly seals: readonly SealSpeed[]
  /** Microseconds to derive the keys of one page: a SHA-256 call, and a block of ChaCha20 for every two layers. */
  readonly keyMicros: number
  /** Guard rows of all held pages, swept every 256 passes: microseconds per page, and per cent of the decode step above. */
  readonly sweep: { readonly pageMicros: number; readonly perCent: number }
}

const PAGE = 16
const BATCH = 8
/** As many sequences as a page has rows: one page is freed for each step. */
const SCRUB_BATCH = 16
/** Not a whole number of pages: a step writes into a page that has rows. */
const CONTEXT = 136
const SWEEP_EVERY = 256
const ON = { tags: true, filled: true, guards: true, finite: true }
const OFF = { tags: false, filled: false, guards: false, finite: false }
const GREEDY = { temperature: 0, topP: 1, topK: 0, seed: 0, topLogprobs: null }

/** The cost of tags, guard rows, seals and scrubbing, each against the same work without, step by step in one process. */
export async function benchIntegrity(options: IntegrityBenchOptions): Promise<IntegrityBench | ModelRefusal> {
  const { path, threads, chunk, now, onProgress } = options
  const inspection = await inspectModel(path)
  if (inspection.kind !== 'ok') return inspection
  const { shape, digest } = inspection
  const rows = Math.max(SCRUB_BATCH * pageUp(CONTEXT + 1) + PAGE, pageUp(chunk))
  const pool = createPool(poolShape(shape, rows, PAGE), BigUint64Array.of(1n, 2n))
  const sampler = (): never => {
    throw new Error('a greedy pass asked for a sampler')
  }
  const loaded = await loadModel(path, { threads, sampler, pool, checks: ON, expectDigest: digest })
  if (loaded.kind !== 'ok') return loaded
  // Both made in the same way, so that nothing but the checks tells them apart.
  const opened = ([ON, OFF] as const).map((checks, i) =>
    openPool(pool, { ...shape, lane: 1 + i, checks, positions: rows }),
  ) as [PoolKernels, PoolKernels]
  const [on, off] = opened.map((kernels) => loaded.over(kernels, PAGE)) as [ForwardPass, ForwardPass]
  const stage = new Stage(shape, opened[0], options)

  const pairs = async (name: string, count: number, ...arms: readonly [Arm, Arm]): Promise<Overhead> => {
    const found = await measurePairs(...arms, {
      pairs: count,
      onProgress: (done) => onProgress(`${name}: ${done} pairs`),
    })
    onProgress(`${name}: ${overheadLine(found)}`)
    return found
  }

  const step = stage.decodeStep(BATCH)
  // A server has long been compiled by the time it matters.
  for (let i = 0; i < 200; i++) stage.arrival(BATCH)
  const bursts: number[] = []
  let steps = 0
  const stepAndBurst = async (): Promise<number> => {
    const ms = await step(on, () => undefined)
    steps += 1
    if (steps % PAGE === 0) {
      bursts.push(stage.arrival(BATCH))
    }
    return ms
  }
  const decode = await pairs('decode', options.pairs, stepAndBurst, () => step(off, () => undefined))
  const burst = bursts.sort((a, b) => a - b)[bursts.length >> 1] ?? Number.NaN
  const arrival = { pageMicros: (1_000 * burst) / BATCH, perCent: (100 * burst) / (PAGE * decode.baseMs) }
  const sweepMicros = stage.sweepMicros(BATCH)
  const whole = stage.prefillChunk(chunk)
  const sealed = Math.floor(chunk / PAGE) * shape.layers
  const prefill = await pairs(
    'prefill',
    options.pairs,
    () => whole(on, () => stage.seal(sealed)),
    () => whole(off, () => undefined),
  )
  const wide = stage.decodeStep(SCRUB_BATCH)
  const scrub = {} as Record<Scrub, Overhead>
  for (const mode of SCRUBS) {
    scrub[mode] = await pairs(
      `scrub ${mode}`,
      options.scrubPairs,
      () => wide(on, () => stage.free(mode)),
      () => wide(on, () => undefined),
    )
  }
  const pageMicros = {
    claim: stage.micros(() => stage.claimSpare()),
    retire_tags: stage.micros(() => stage.free('tags')),
    retire_zero: stage.micros(() => stage.free('zero')),
    retire_poison: stage.micros(() => stage.free('poison')),
  }
  await loaded.pass.close()
  const heldPages = (BATCH * pageUp(CONTEXT + 1)) / PAGE
  return {
    kind: 'ok',
    threads,
    chunk,
    decode,
    arrival,
    prefill,
    scrub,
    pageMicros,
    seals: benchSeals({ now }),
    keyMicros: stage.micros(() => stage.deriveKey()) * shape.layers,
    sweep: {
      pageMicros: sweepMicros,
      perCent: (100 * sweepMicros * heldPages) / SWEEP_EVERY / (1_000 * decode.baseMs),
    },
  }
}

/** `0.42 % [0.31, 0.55] of 3.1 ms, 2000 pairs`. */
export function overheadLine({ median, low, high, baseMs, pairs }: Overhead): string {
  const per = (value: number): string => value.toFixed(2)
  return `${per(median)} % [${per(low)}, ${per(high)}] of ${per(baseMs)} ms, ${pairs} pairs`
}

type Pass = (pass: ForwardPass, after: () => void) => Promise<number>

/** Sequences that stand in the pool, and steps that can be taken again and again: what they wrote is unwritten, untimed. */
class Stage {
  readonly #shape: ModelShape
  readonly #kernels: PoolKernels
  readonly #options: IntegrityBenchOptions
  readonly #spare: Uint32Array
  #keys = 0
  #digest = DIGEST

  constructor(shape: ModelShape, kernels: PoolKernels, options: IntegrityBenchOptions) {
    this.#shape = shape
    this.#kernels = kernels
    this.#options = options
    this.#spare = Uint32Array.of((SCRUB_BATCH * pageUp(CONTEXT + 1)) / PAGE)
  }

  decodeStep(batch: number): Pass {
    const perSequence = pageUp(CONTEXT + 1) / PAGE
    const tables = Array.from({ length: batch }, (_, i) => this.#claim(i * perSequence, perSequence, i + 1))
    for (const { pages } of tables) this.#fill(pages, CONTEXT)
    const sequences = tables.map((table, i) => this.#rows(table, CONTEXT, 1, i, true))
    return this.#timed(sequences, () => {
      for (const { pages } of tables) this.#mark(pages[perSequence - 1]!, CONTEXT % PAGE)
    })
  }

  prefillChunk(rows: number): Pass {
    const table = this.#claim(0, pageUp(rows) / PAGE, 1)
    return this.#timed([this.#rows(table, 0, rows, 0, false)], () => {
      for (const page of table.pages) this.#mark(page, 0)
    })
  }

  /** Seals so many pages of a layer each, with their keys derived: what the sender does, or the receiver. */
  seal(count: number): void {
    for (let i = 0; i < count; i++) this.#kernels.seal(i % 8, this.#keys % this.#shape.layers, PAGE, this.deriveKey())
  }

  /** Milliseconds to verify so many pages as they are placed; placing them is no part of it, since `off` does so as well. */
  arrival(pages: number): number {
    const { now, digests } = this.#options
    const rows = new Uint8Array(this.#kernels.rowBytes(PAGE))
    let ms = 0
    for (let page = 0; page < pages; page++) {
      for (let layer = 0; layer < this.#shape.layers; layer++) {
        this.#kernels.writeRows(this.#spare[0]!, layer, PAGE, rows)
        const start = now()
        const seal = this.#kernels.seal(this.#spare[0]!, layer, PAGE, this.deriveKey())
        digests.equal(seal, seal)
        ms += now() - start
      }
    }
    return ms
  }

  /** The key of the next layer, or of the next page's first. */
  deriveKey(): Uint8Array {
    const layer = this.#keys % this.#shape.layers
    const ordinal = (this.#keys - layer) / this.#shape.layers
    if (layer === 0) this.#digest = DIGEST.slice()
    this.#keys += 1
    const lineage = { namespace: 'bench-request/1', tokenDigest: this.#digest, layer, ordinal, rows: PAGE }
    return lineageKey(lineage, this.#options.digests.sha256)
  }

  free(mode: Scrub): void {
    this.#kernels.retire(this.#spare, mode)
  }

  claimSpare(): void {
    this.#kernels.claim(this.#spare, ONE, ONE, ONE)
  }

  sweepMicros(batch: number): number {
    const pages = (batch * pageUp(CONTEXT + 1)) / PAGE
    const table = this.#claim(0, pages, 1)
    return this.micros(() => this.#kernels.checkGuards(table)) / pages
  }

  /** Median of many calls, in microseconds. */
  micros(call: () => unknown): number {
    const { now } = this.#options
    const times: number[] = []
    for (let round = 0; round < 200; round++) {
      const start = now()
      for (let i = 0; i < 20; i++) call()
      times.push(((now() - start) * 1_000) / 20)
    }
    return times.sort((a, b) => a - b)[100]!
  }

  #timed(sequences: readonly SequencePlan[], undo: () => void): Pass {
    const { now } = this.#options
    const plan = { id: 0, sequences }
    return async (pass, after) => {
      const start = now()
      const { results } = await pass.run(plan, () => undefined)
      after()
      const ms = now() - start
      const fault = results.find((result) => result.fault !== null)?.fault
      if (fault) throw new Error(`the bench's own pages gave a fault: ${fault.kind}`)
      undo()
      return ms
    }
  }

  #mark(page: number, rows: number): void {
    for (let layer = 0; layer < this.#shape.layers; layer++) this.#kernels.markFilled(page, layer, rows)
  }

  /** Rows that were never computed: a step reads them all the same. */
  #fill(pages: Uint32Array, tokens: number): void {
    const kernels = this.#kernels
    const bytes = new Uint8Array(
      Float32Array.from({ length: kernels.rowBytes(PAGE) / 4 }, (_, i) => Math.sin(i * 0.7)).buffer,
    )
    for (const [ordinal, page] of pages.entries()) {
      const rows = Math.min(PAGE, tokens - ordinal * PAGE)
      for (let layer = 0; layer < this.#shape.layers; layer++) {
        kernels.writeRows(page, layer, rows, bytes.subarray(0, kernels.rowBytes(rows)))
      }
      this.#mark(page, rows)
    }
  }

  #claim(first: number, count: number, owner: number): SequencePlan['table'] {
    const pages = Uint32Array.from({ length: count }, (_, i) => first + i)
    const owners = new Uint32Array(count).fill(owner)
    const generations = new Uint32Array(count).fill(1)
    this.#kernels.claim(pages, owners, generations, Uint32Array.from(pages.keys()))
    return { pages, owners, generations }
  }

  #rows(table: SequencePlan['table'], start: number, count: number, sequence: number, sample: boolean): SequencePlan {
    const { vocab } = this.#shape
    return {
      requestId: `bench-${sequence}`,
      attempt: 1,
      tokens: Int32Array.from({ length: count }, (_, i) => (7919 * (i + 1) + 104_729 * sequence) % vocab),
      start,
      write: 'append',
      table,
      sample: sample ? { params: GREEDY, sequence: 0, index: 0 } : null,
    }
  }
}

const ONE = Uint32Array.of(1)
const DIGEST = new Uint8Array(32).fill(7)

function pageUp(tokens: number): number {
  return Math.ceil(tokens / PAGE) * PAGE
}
