import { createHash } from 'node:crypto'
import { effectiveWindow, type ModelLimits } from '../../admission/index.ts'
import type { EngineEvent, EnginePort, EngineRequest, ServedModel } from '../../cluster/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { Tokenizer } from '../../text/index.ts'
import {
  createGateway,
  type GatewayHandler,
  type GatewayModel,
  type GatewayOptions,
  prepareTasks,
  type Tenant,
} from '../index.ts'

export const sha256 = (data: Uint8Array): Uint8Array => new Uint8Array(createHash('sha256').update(data).digest())
export const keyHash = (key: string): Uint8Array => sha256(new TextEncoder().encode(key))

/** The end-of-turn id of `byteTokenizer`. */
export const endId = 256

/** One token per UTF-8 byte. */
export const byteTokenizer: Tokenizer = {
  vocabSize: 257,
  endIds: [endId],
  encode: (text, { limit }) => {
    const bytes = new TextEncoder().encode(text)
    const complete = limit === undefined || bytes.length <= limit
    return { ids: Int32Array.from(complete ? bytes : bytes.subarray(0, (limit ?? 0) + 1)), complete }
  },
  tokenBytes: (id) => (id < 256 ? Uint8Array.of(id) : new Uint8Array(0)),
}

export const standardLimits: ModelLimits = { advertisedWindow: 2048, prefillPool: 1024, decodePool: 2048, pageSize: 16 }

/** A model whose chat template is `role:content\n` per message. */
export const byteModel = (id = 'tiny', limits: ModelLimits = standardLimits): GatewayModel => ({
  id,
  created: 1_700_000_000,
  limits,
  defaultMaxTokens: 1024,
  prompt: {
    id,
    encodeLimit: effectiveWindow(limits),
    encodeText: (text, limit) => byteTokenizer.encode(text, { addSpecial: true, parseSpecial: false, limit }),
    encodeChat: (messages, limit) => {
      const first = messages[0]
      if (first?.role === 'tool') throw Object.assign(new Error('refused'), { code: 'template_failed' })
      const text = messages.map(({ role, content }) => `${role}:${content}\n`).join('')
      return byteTokenizer.encode(text, { addSpecial: true, parseSpecial: true, limit })
    },
  },
  tokenizer: byteTokenizer,
  pageBytes: 1000,
  integrity: 'full',
})

export interface Submission {
  readonly request: EngineRequest
  emit(event: EngineEvent): void
  /** Tokens of the text's bytes for one sequence, from where it stands. */
  say(text: string, sequence?: number): void
  readonly aborted: () => number
  readonly finished: readonly number[]
}

export interface EngineDouble extends EnginePort {
  readonly submissions: Submission[]
  /** Called with each submission; by default nothing happens until the test emits. */
  onSubmit: (submission: Submission) => void
  served: ServedModel[]
}

const emptyPool = { total: 64, free: 60, owned: 4, draining: 0, quarantined: 0, cells: 'ssff'.padEnd(64, '.') }

export const servedModel = (id = 'tiny'): ServedModel => ({
  id,
  ready: true,
  reason: null,
  waiting: 1,
  running: 2,
  pools: { prefill: emptyPool, decode: emptyPool },
})

/** An EnginePort in memory, driven by the test. */
export const createEngineDouble = (): EngineDouble => {
  const double: EngineDouble = {
    submissions: [],
    onSubmit: () => undefined,
    served: [servedModel()],
    models: () => double.served,
    submit(request, sink) {
      const counts = new Map<number, number>()
      let aborted = 0
      const finished: number[] = []
      const submission: Submission = {
        request,
        emit: sink,
        say(text, sequence = 0) {
          for (const token of new TextEncoder().encode(text)) {
            const index = counts.get(sequence) ?? 0
            counts.set(sequence, index + 1)
            const top = request.sampling.topLogprobs ? [{ token, logprob: -0.25 }] : []
            sink({ kind: 'token', sequence, index, sampled: { token, logprob: -0.25, top } })
          }
        },
        aborted: () => aborted,
        finished,
      }
      double.submissions.push(submission)
      double.onSubmit(submission)
      return {
        abort: () => {
          aborted += 1
        },
        finishSequence: (sequence) => finished.push(sequence),
      }
    },
  }
  return double
}

/** Answers every request at once: `text`, then the reason. */
export const answering =
  (text: string, reason: 'stop' | 'length' = 'stop') =>
  (submission: Submission): void => {
    submission.emit({ kind: 'started' })
    for (let s = 0; s < submission.request.contract.n; s++) {
      submission.say(text, s)
      submission.emit({ kind: 'sequence_finished', sequence: s, reason })
    }
    submission.emit({ kind: 'done' })
  }

export interface World {
  readonly handler: GatewayHandler
  readonly engine: EngineDouble
  readonly events: TelemetryEvent[]
  readonly offloaded: string[]
  /** Milliseconds of the fake clock. */
  now: number
  send(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>
}

export const apiKey = 'key-a'
export const adminKey = 'admin-key'

export const createWorld = (options: Partial<GatewayOptions> & { readonly limits?: Tenant['limits'] } = {}): World => {
  const engine = createEngineDouble()
  const events: TelemetryEvent[] = []
  const offloaded: string[] = []
  const models = options.models ?? [byteModel()]
  const tasks = prepareTasks(models.map((model) => model.prompt))
  let counter = 0
  const world: World = {
    engine,
    events,
    offloaded,
    now: 1000,
    handler: createGateway({
      models,
      tenants: [
        { id: 'a', keys: [keyHash(apiKey)], limits: options.limits ?? null },
        { id: 'b', keys: [keyHash('key-b'), keyHash('key-b2')], limits: options.limits ?? null },
      ],
      adminKeys: [keyHash(adminKey)],
      engine,
      clock: { now: () => world.now, wall: () => 1_800_000_000_000 + world.now },
      random: {
        bytes: (count) => Uint8Array.from({ length: count }, () => counter++ & 255),
        uint32: () => 7,
      },
      sha256,
      offload: {
        call: async (task, payload) => {
          offloaded.push(task)
          return (tasks[task] as (payload: unknown) => unknown)(payload)
        },
      },
      telemetry: (event) => events.push(event),
      metrics: () => [],
      page: [{ path: '/', contentType: 'text/html; charset=utf-8', body: '<!doctype html>' }],
      feed: { subscribe: () => () => undefined },
      securityTxt: null,
      ...options,
    }),
    send: (path, init = {}) =>
      world.handler(
        new Request(`http://127.0.0.1:8790${path}`, {
          ...init,
          headers: { authorization: `Bearer ${apiKey}`, ...(init.headers as Record<string, string> | undefined) },
        }),
        { remoteAddress: '127.0.0.1' },
      ),
    post: (path, body, init = {}) =>
      world.send(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), ...init }),
  }
  return world
}

export interface WireError {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string
    readonly details?: Record<string, unknown>
  }
}

export const errorOf = async (response: Response): Promise<WireError['error'] & { readonly status: number }> => ({
  status: response.status,
  ...((await response.json()) as WireError).error,
})

/** The `data:` payloads of a whole event stream, and how it ended. */
export const readFrames = async (
  response: Response,
): Promise<{ readonly frames: string[]; readonly ending: 'closed' | 'reset' }> => {
  let text = ''
  let ending: 'closed' | 'reset' = 'closed'
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
  } catch {
    ending = 'reset'
  }
  const parts = text.split('\n\n')
  if (parts.pop() !== '') throw new Error('the stream does not end with a whole frame')
  return { frames: parts.map((part) => part.replace(/^data: /, '')), ending }
}
