import type { EnginePort } from '../../cluster/index.ts'
import { quantile } from '../format.ts'
import { gapsBetween, type RunningStream, runStream } from './streams.ts'

export interface MixedLoadOptions {
  readonly engine: EnginePort
  readonly model: string
  readonly vocab: number
  readonly pageSize: number
  readonly contextLength: number
  readonly now: () => number
  readonly wait: (milliseconds: number) => Promise<void>
  /** Tokens of the prompt that arrives while a stream decodes. */
  readonly longPrompt: number
}

export interface Spread {
  readonly p50: number
  readonly p99: number
}

export interface MixedLoadReport {
  readonly streams: number
  /** Milliseconds. */
  readonly ttft: Spread
  readonly interToken: Spread
  /** A running stream while a long prompt is computed by prefill, and another alone. */
  readonly longPrompt: {
    readonly tokens: number
    /** First and last output token of the streams whose times are compared. */
    readonly outputs: readonly [number, number]
    readonly alone: Spread
    readonly during: Spread
    readonly p99Ratio: number
    readonly seconds: number
  }
}

type StreamStart = (tokens: number, maxOutput: number) => RunningStream

const PROMPTS = [32, 128, 384, 64, 256, 512, 96, 192]
const OUTPUT = 64
/** Tokens of a stream, at most a third of it, before it counts. */
const SETTLED = 100
const POLL_MS = 5

/** TTFT and inter-token times of mixed prompts through real workers, and what a long prefill does to a running decode. */
export async function measureMixedLoad(options: MixedLoadOptions): Promise<MixedLoadReport> {
  const { engine, model, vocab, pageSize, now, contextLength } = options
  let serial = 0
  const start: StreamStart = (tokens, maxOutput) => {
    serial += 1
    const ids = madeUpIds(tokens, vocab, serial)
    return runStream(engine, { requestId: `bench-${serial}`, model, ids, maxOutput, pageSize }, now)
  }
  const lengths = PROMPTS.map((length) => Math.min(length, contextLength - OUTPUT - 1))
  await start(lengths[0]!, 8).ended // the first pass of a session also prepares its buffers
  const mixed = await Promise.all([...lengths, ...lengths].map((length) => start(length, OUTPUT).ended))
  const gaps = mixed.flatMap(({ tokenTimes }) => gapsBetween(tokenTimes, 0, tokenTimes.length))
  return {
    streams: mixed.length,
    ttft: spread(mixed.map(({ ttft }) => ttft)),
    interToken: spread(gaps),
    longPrompt: await measureLongPrompt(options, start),
  }
}

/**
 * One stream decodes beside the long prompt, and one of the same length alone afterwards. Their gaps are compared over the same
 * positions: a stream that has run on reads more rows for each token, whoever else is there.
 */
async function measureLongPrompt(
  options: MixedLoadOptions,
  start: StreamStart,
): Promise<MixedLoadReport['longPrompt']> {
  const { now, contextLength } = options
  const tokens = Math.min(options.longPrompt, contextLength - 2)
  const output = contextLength - 64
  const until = async (stream: RunningStream, received: number): Promise<void> => {
    let over = false
    const end = (): void => {
      over = true
    }
    stream.ended.then(end, end)
    while (stream.received() < received && !over) await options.wait(POLL_MS)
    // One that failed says so here.
    if (over) await stream.ended
  }
  const beside = start(32, output)
  await until(beside, Math.min(SETTLED, output / 3))
  const first = beside.received()
  const begun = now()
  await start(tokens, 1).ended
  const seconds = (now() - begun) / 1_000
  const last = beside.received()
  const during = gapsBetween(await stopped(beside), first, last)
  const lone = start(32, output)
  await until(lone, last)
  const alone = gapsBetween(await stopped(lone), first, last)
  const p99Ratio = spread(during).p99 / spread(alone).p99
  return { tokens, outputs: [first, last], alone: spread(alone), during: spread(during), p99Ratio, seconds }
}

async function stopped(stream: RunningStream): Promise<readonly number[]> {
  stream.stop()
  return (await stream.ended).tokenTimes
}

function spread(samples: readonly number[]): Spread {
  return { p50: quantile(samples, 0.5), p99: quantile(samples, 0.99) }
}

/** Ids that repeat nothing useful; below the vocabulary, above the control tokens that most files put first. */
function madeUpIds(count: number, vocab: number, seed: number): Int32Array {
  const floor = Math.min(300, vocab >> 1)
  return Int32Array.from({ length: count }, (_, i) => floor + ((i * 7_919 + seed * 104_729) % (vocab - floor)))
}
