/** The compiled engine on a built-in model, with real worker processes. `dist/` must have been built. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, vi } from 'vitest'
import type { EngineEvent, EnginePort } from '../../src/cluster/index.ts'
import type { SamplingParams } from '../../src/model/index.ts'
import type { Engine, EngineModel, EngineOptions } from '../../src/runtime/index.ts'
import type { TelemetryEvent } from '../../src/telemetry/index.ts'

// Each test file looks for sockets left behind in a place of its own.
const own = mkdtempSync(join(tmpdir(), 'bh-'))
process.env.TMPDIR = own
// Starting processes takes its time on a machine that does other things as well.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(() => rmSync(own, { recursive: true, force: true }))

const dist = (path: string): string => resolve(import.meta.dirname, '../../dist', path)
export const modelFile = (name: string): string => resolve(import.meta.dirname, '../../models', `${name}.gguf`)

export const runtime = (await import(dist('runtime/index.js'))) as typeof import('../../src/runtime/index.ts')
export const host = (await import(dist('host/node/index.js'))) as typeof import('../../src/host/node/index.ts')
export const cluster = (await import(dist('cluster/index.js'))) as typeof import('../../src/cluster/index.ts')
const model = (await import(dist('model/index.js'))) as typeof import('../../src/model/index.ts')

export const PAGE = 16

export const engineModel = async (name: string, change: Partial<EngineModel> = {}): Promise<EngineModel> => {
  const found = await model.inspectModel(modelFile(name))
  if (found.kind !== 'ok') throw new Error(found.message)
  const { digest, shape } = found
  return {
    id: name,
    weights: modelFile(name),
    digest,
    shape,
    prefillPool: 4096,
    decodePool: 4096,
    pageSize: PAGE,
    ...change,
  }
}

export interface Running {
  readonly engine: Engine
  readonly telemetry: TelemetryEvent[]
}

export const start = async (
  change: Partial<EngineModel> = {},
  options: Partial<EngineOptions> = {},
): Promise<Running> => {
  const telemetry: TelemetryEvent[] = []
  const engine = await runtime.startEngine({
    models: [await engineModel('tiny', change)],
    secrets: host.createSecrets(new Uint8Array(32).fill(3)),
    telemetry: (event) => telemetry.push(event),
    ...options,
  })
  return { engine, telemetry }
}

export interface Outcome {
  readonly ending: EngineEvent
  /** Of each sequence. */
  readonly tokens: readonly number[][]
  readonly ms: number
}

export interface Asked {
  readonly outcome: Promise<Outcome>
  abort(): void
  /** Tokens of the first sequence so far. */
  drawn(): number
}

let asked = 0

export const promptOf = (length: number, salt = 0): Int32Array =>
  Int32Array.from({ length }, (_, at) => 10 + ((at * 7 + salt * 13) % 900))

export const ask = (
  engine: EnginePort,
  ids: Int32Array,
  maxOutput: number,
  change: {
    readonly n?: number
    readonly sampling?: Partial<SamplingParams>
    readonly onToken?: (event: Extract<EngineEvent, { kind: 'token' }>) => void
  } = {},
): Asked => {
  const n = change.n ?? 1
  const whole = Math.floor(ids.length / PAGE)
  const started = performance.now()
  const tokens: number[][] = Array.from({ length: n }, () => [])
  let handle: { abort(): void } = { abort: () => undefined }
  asked += 1
  const requestId = `req_${asked}`
  const outcome = new Promise<Outcome>((settle) => {
    handle = engine.submit(
      {
        requestId,
        tenant: 'a',
        model: engine.models()[0]!.id,
        ids,
        contract: {
          promptTokens: ids.length,
          maxOutput,
          n,
          prefillPages: Math.ceil(ids.length / PAGE),
          decodePages: whole + n * (Math.ceil((ids.length + maxOutput) / PAGE) - whole),
        },
        sampling: { temperature: 0, topP: 1, topK: 0, seed: 1, topLogprobs: null, ...change.sampling },
        endIds: [],
      },
      (event) => {
        if (event.kind === 'token') {
          tokens[event.sequence]!.push(event.sampled.token)
          change.onToken?.(event)
        }
        if (event.kind === 'done' || event.kind === 'failed') {
          settle({ ending: event, tokens, ms: performance.now() - started })
        }
      },
    )
  })
  return { outcome, abort: () => handle.abort(), drawn: () => tokens[0]!.length }
}

export const until = async (condition: () => boolean, ms = 60_000): Promise<number> => {
  const started = performance.now()
  while (!condition()) {
    if (performance.now() - started > ms) throw new Error('waited in vain')
    await sleep(5)
  }
  return performance.now() - started
}

/** Both pools as they were at the start. */
export const allHome = (engine: EnginePort): boolean =>
  engine
    .models()
    .every(({ pools }) => pools.prefill.free === pools.prefill.total && pools.decode.free === pools.decode.total)

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
