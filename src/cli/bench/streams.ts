import type { Contract } from '../../admission/index.ts'
import type { EngineEvent, EnginePort } from '../../cluster/index.ts'

/** One request's times, in milliseconds of the clock that was handed in. */
export interface StreamTimes {
  /** Submission to first token. */
  readonly ttft: number
  /** When each token came. */
  readonly tokenTimes: readonly number[]
}

export interface StreamRequest {
  readonly requestId: string
  readonly model: string
  readonly ids: Int32Array
  readonly maxOutput: number
  readonly pageSize: number
}

export interface RunningStream {
  readonly ended: Promise<StreamTimes>
  /** Tokens so far. */
  received(): number
  /** Ends it early; `ended` then resolves with what came until then. */
  stop(): void
}

/** Runs one greedy request straight on the engine. `ended` rejects where the engine fails it; a bench has no excuse for a failure. */
export function runStream(engine: EnginePort, request: StreamRequest, now: () => number): RunningStream {
  const { requestId, model, ids, maxOutput, pageSize } = request
  const pages = (tokens: number): number => Math.ceil(tokens / pageSize)
  const contract: Contract = {
    promptTokens: ids.length,
    maxOutput,
    n: 1,
    prefillPages: pages(ids.length + 1),
    decodePages: pages(ids.length + maxOutput),
  }
  const sampling = { temperature: 0, topP: 1, topK: 0, seed: 0, topLogprobs: null }
  const started = now()
  const tokenTimes: number[] = []
  let stopped = false
  let stop = (): void => undefined
  const ended = new Promise<StreamTimes>((resolve, reject) => {
    const sink = (event: EngineEvent): void => {
      if (event.kind === 'token') tokenTimes.push(now())
      else if (event.kind === 'failed' && !stopped) reject(new Error(`request failed: ${event.code}`))
      else if (event.kind === 'done' || event.kind === 'failed')
        resolve({ ttft: (tokenTimes[0] ?? now()) - started, tokenTimes })
    }
    const handle = engine.submit({ requestId, tenant: 'bench', model, ids, contract, sampling, endIds: [] }, sink)
    stop = () => {
      stopped = true
      handle.abort()
    }
  })
  return { ended, received: () => tokenTimes.length, stop: () => stop() }
}

/** Times between a stream's tokens, from its token `first` (counted from 0) to the last one before `end`. */
export function gapsBetween(times: readonly number[], first: number, end: number): readonly number[] {
  return times.slice(first, end).flatMap((time, index, span) => (index === 0 ? [] : [time - span[index - 1]!]))
}
