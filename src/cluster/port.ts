import type { Contract } from '../admission/index.ts'
import type { SampledToken, SamplingParams } from '../model/index.ts'
import type { FailureCode } from './messages.ts'

/**
 * The gateway's only way to the own engine. Implemented by `runtime` (which drives the router state machine);
 * a test double implements it in memory. Everything here is already admitted: a refused request never reaches it (R1).
 */
export interface EnginePort {
  readonly models: () => readonly ServedModel[]
  /**
   * Hands over one admitted request. Events reach `sink` in order, each once; exactly one of `done` or `failed` is the last.
   * `abort` may be called at any time, more than once; after it no event but the last one follows.
   */
  submit(request: EngineRequest, sink: (event: EngineEvent) => void): EngineHandle
}

export interface EngineHandle {
  abort(): void
  /** Ends one of the n sequences early (a stop string was found); its pages stay until the request ends. */
  finishSequence(sequence: number): void
}

export interface EngineRequest {
  /** Made by the gateway, unique. */
  readonly requestId: string
  readonly tenant: string
  readonly model: string
  readonly ids: Int32Array
  readonly contract: Contract
  readonly sampling: SamplingParams
  readonly endIds: readonly number[]
}

export type EngineEvent =
  /** Waiting for room; may be followed by `queue_full` or `queue_timeout` failures (R13: pressure, not legality). */
  | { readonly kind: 'queued' }
  | { readonly kind: 'started' }
  /** So many tokens of the prompt were reused from the prefix cache; once, before `done`, and only if there were any. */
  | { readonly kind: 'cached'; readonly tokens: number }
  | { readonly kind: 'token'; readonly sequence: number; readonly index: number; readonly sampled: SampledToken }
  | { readonly kind: 'sequence_finished'; readonly sequence: number; readonly reason: 'stop' | 'length' }
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed'
      readonly code: FailureCode | 'queue_full' | 'queue_timeout' | 'unavailable'
      readonly retryAfterSeconds: number | null
    }

/** What the runtime knows of a served model once its workers are up. */
export interface ServedModel {
  readonly id: string
  readonly ready: boolean
  /** Why it is not, in a phrase; null when ready. */
  readonly reason: string | null
  readonly waiting: number
  readonly running: number
  readonly pools: { readonly prefill: PoolUse; readonly decode: PoolUse }
  /** What each worker's detectors did when they were last drilled (R14); absent where nobody drills them. */
  readonly detectors?: readonly DetectorState[]
}

/** `stale`: armed when it was last drilled, too long ago. `failed`: it did not fire, or not on what was planted alone. */
export interface DetectorState {
  readonly role: 'prefill' | 'decode'
  readonly detector: string
  readonly rule: string
  readonly state: 'armed' | 'stale' | 'failed' | 'unknown'
  /** Since its last drill; null if there was none in this life of the worker. */
  readonly ageSeconds: number | null
}

export interface PoolUse {
  readonly total: number
  readonly free: number
  readonly owned: number
  readonly draining: number
  readonly quarantined: number
  /** One character a page for the operator's page, `.` free, `r` reserved, `f` filling, `s` sealed, `d` draining, `q` quarantined. */
  readonly cells: string
  /** Of the owned pages, those that hold cached prefixes; absent where there is no cache. */
  readonly cached?: number
  /** Of the cached ones, those that nobody reads: they make way for whoever needs room. */
  readonly idle?: number
}
