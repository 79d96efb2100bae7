import type { EngineEvent, EngineRequest } from '../../../cluster/index.ts'
import type { ExchangeEffect } from '../../../gateway/index.ts'
import type { Role, TelemetryEvent } from '../../../telemetry/index.ts'

/** One worker in one of its lives. */
export interface Life {
  readonly role: Role
  readonly epoch: number
  readonly pages: number
}

export interface SimCounts {
  readonly total: number
  readonly free: number
  readonly owned: number
  readonly quarantined: number
}

/**
 * Watches a simulation from outside, with its own idea of what must hold; shares no code with what it watches. A method
 * returns what is wrong, or null. All are optional: a checker looks at what concerns it.
 */
export interface Checker {
  readonly name: string
  /** Tags change hands. */
  claim?(life: Life, pages: Uint32Array, owners: Uint32Array): string | null
  retire?(life: Life, pages: Uint32Array): string | null
  /** A page changes hands with its rows. */
  publish?(life: Life, page: number, from: number, to: number): string | null
  /** Bytes of these pages may be read or written from now on, until `touchEnds`. */
  touchBegins?(life: Life, pages: Iterable<number>): string | null
  touchEnds?(life: Life, pages: Iterable<number>): string | null
  /** Bytes of an attempt will be stored into this page from outside, are about to be, or stand in it from now on. */
  store?(life: Life, page: number, requestId: string, attempt: number): string | null
  /** A row reached the arithmetic. `fresh`: written since its page was last claimed. `guarded`: its page's guard row stands. */
  read?(reader: number, writer: number, fresh: boolean, page: number, guarded: boolean, position: number): string | null
  /** Readers and writers are numbers that stand for an attempt of this request. */
  numbered?(writer: number, requestId: string): void
  /** After every step of a worker. */
  counts?(life: Life, counts: SimCounts): string | null
  /** A worker's machine told something. */
  told?(life: Life, event: TelemetryEvent): string | null
  /** A worker has taken a request on, with these ids. `genuine`: its ticket is the one that was issued, and in date. */
  accepted?(life: Life, requestId: string, attempt: number, ids: Int32Array, genuine: boolean): string | null
  /** Prefill says that all of an attempt's rows stand and were sent; it is told that the attempt is over. */
  committed?(life: Life, requestId: string, attempt: number): void
  givenUp?(life: Life, requestId: string, attempt: number): void
  /** A request reached the gateway. */
  asked?(
    wanted: Omit<EngineRequest, 'contract'>,
    demand: { readonly maxOutput: number; readonly n: number },
    stops: readonly string[],
  ): void
  /** It was admitted and handed to the engine. */
  submitted?(request: EngineRequest): void
  /** Something left for the client. */
  answered?(requestId: string, effect: ExchangeEffect): string | null
  /** The gateway asked for the end, of the request or of one sequence. */
  stopped?(requestId: string, sequence: number | null): void
  /** The gateway died while the request waited: nothing more is said of it. */
  reset?(requestId: string): void
  delivered?(requestId: string, event: EngineEvent): string | null
  /** Nothing is left to happen. `living`: workers that are up, with their counts. */
  end?(living: readonly { readonly life: Life; readonly counts: SimCounts }[]): string | null
}
