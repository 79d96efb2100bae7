import type { EnginePort } from '../../cluster/index.ts'
import { quantile } from '../format.ts'
import { gapsWithin, type RunningStream, runStream } from './streams.ts'

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
  /** One running stream, alone and while a long prompt is computed by prefill. */
  readonly longPrompt: {
    readonly tokens: number
    readonly alone: Spread
    readonly during: Spread
    readonly p99Ratio: number
    readonly seconds: number
  }
}

type StreamStart = (tokens: number, maxOutput: number) => RunningStream

const PROMPTS = [32, 128, 384, 64, 256, 512, 96, 192]
const OUTPUT = 64
/** A third of the stream or this long runs alone, the rest beside the long prompt. */
const ALONE_MS = 8_000
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
  const gaps = mixed.flatMap(({ tokenTimes }) => gapsWithin(tokenTimes, 0, Number.POSITIVE_INFINITY))
  return {
    streams: mixed.length,
    ttft: spread(mixed.map(({ ttft }) => ttft)),
    interToken: spread(gaps),
    longPrompt: await measureLongPrompt(options, start),
  }
}

/** One stream decodes for as long without company as with it. */
async function measureLongPrompt(
  options: MixedLoadOptions,
  start: StreamStart,
): Promise<MixedLoadReport['longPrompt']> {
  const { now, contextLength } = options
  const tokens = Math.min(options.longPrompt, contextLength - 2)
  const output = contextLength - 64
  const running = start(32, output)
  const started = now()
  while (running.received() < output / 3 && now() - started < ALONE_MS) await options.wait(POLL_MS)
  const from = now()
  await start(tokens, 1).ended
  const to = now()
  running.stop()
  const { tokenTimes } = await running.ended
  const alone = spread(gapsWithin(tokenTimes, 0, from))
  const during = spread(gapsWithin(tokenTimes, from, to))
  return { tokens, alone, during, p99Ratio: during.p99 / alone.p99, seconds: (to - from) / 1_000 }
}

function spread(samples: readonly number[]): Spread {
  return { p50: quantile(samples, 0.5), p99: quantile(samples, 0.99) }
}

/** Ids that repeat nothing useful; below the vocabulary, above the control tokens that most files put first. */
function madeUpIds(count: number, vocab: number, seed: number): Int32Array {
  const floor = Math.min(300, vocab >> 1)
  return Int32Array.from({ length: count }, (_, i) => floor + ((i * 7_919 + seed * 104_729) % (vocab - floor)))
}
