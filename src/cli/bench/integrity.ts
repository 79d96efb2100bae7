import type { DigestTools } from '../../host/index.ts'
import { benchSeals, createPool, openPool, type PoolKernels, type SealSpeed } from '../../kernels/index.ts'
import { type ForwardPass, inspectModel, loadModel, type ModelRefusal, poolShape } from '../../model/index.ts'
import { CONTEXT, PAGE, pageUp, Stage } from './integrity-stage.ts'
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
  /** Microseconds for the keys of one page: SHA-256 of its tokens, and a block of ChaCha20 for every layer. */
  readonly keyMicros: number
  /** Guard rows of all held pages, swept every 256 passes: microseconds per page, and per cent of the decode step above. */
  readonly sweep: { readonly pageMicros: number; readonly perCent: number }
}

const BATCH = 8
/** As many sequences as a page has rows: one page is freed for each step. */
const SCRUB_BATCH = 16
const SWEEP_EVERY = 256
const ON = { tags: true, filled: true, guards: true, finite: true }
const OFF = { tags: false, filled: false, guards: false, finite: false }

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
  const stage = new Stage(shape, opened[0], { ...options, sparePage: (SCRUB_BATCH * pageUp(CONTEXT + 1)) / PAGE })

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
  const sealed = Math.floor(chunk / PAGE)
  const prefill = await pairs(
    'prefill',
    options.pairs,
    () =>
      whole(on, () => {
        stage.checkTicket()
        stage.seal(sealed)
      }),
    () => whole(off, () => stage.checkTicket()),
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
    keyMicros: stage.micros(() => stage.deriveKeys(BATCH)) / BATCH,
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
