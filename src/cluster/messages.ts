import type { Ticket } from '../admission/index.ts'
import type { PageTable, PoolShape } from '../kv/index.ts'
import type { SampledToken, SamplingParams } from '../model/index.ts'

/** R10: every message and frame says whose it is. An attempt is a whole new life of a request on the workers. */
export interface Identity {
  readonly requestId: string
  readonly attempt: number
}

/** What a worker says of itself when it comes up. `epoch` is new in each life of a worker. */
export interface WorkerHello {
  readonly kind: 'hello'
  readonly role: 'prefill' | 'decode'
  readonly model: string
  readonly weights: string
  readonly epoch: number
  readonly shape: PoolShape
}

/**
 * What a worker says of the transfer channel whenever it opens or closes. Nothing is dispatched while either side says it is
 * closed; at a `hello`, which comes once the channel has first been open, it counts as open.
 */
export interface ChannelState {
  readonly kind: 'channel'
  readonly up: boolean
}

/** Router to decode: reserve the whole contract and open a lease. Token ids travel once; the ticket binds them. */
export interface Reserve extends Identity {
  readonly kind: 'reserve'
  readonly ticket: Ticket
  readonly ids: Int32Array
  readonly sampling: SamplingParams
  /** Ids that end a sequence with `stop`. */
  readonly endIds: readonly number[]
}

/** Router to prefill: compute the prompt and send its pages under `lease`. */
export interface Prefill extends Identity {
  readonly kind: 'prefill'
  readonly ticket: Ticket
  readonly ids: Int32Array
  readonly lease: Lease
}

/** Names one reservation in one life of decode; frames that name another are discarded (R6). Ids grow and are never given again. */
export interface Lease {
  readonly id: number
  readonly epoch: number
  /** Transport `shared`: decode's pages of the prompt with their tags, in the order of the table: where the writer may store. */
  readonly target?: PageTable
}

/** Router to both: the request is over (client gone, stop string found, time-out, other leg failed). */
export interface Abort extends Identity {
  readonly kind: 'abort'
}

/** Router to decode: one of the n sequences needs no more tokens (a stop string was found). */
export interface FinishSequence extends Identity {
  readonly kind: 'finish_sequence'
  readonly sequence: number
}

export type RouterToDecode = Reserve | Abort | FinishSequence
export type RouterToPrefill = Prefill | Abort

/** `lease_over`: nothing may be stored under that lease any more (transport `shared`). */
export type DeclineCode = 'no_room' | 'bad_ticket' | 'wrong_shape' | 'lease_over'
/** Why a worker ended a request: becomes an HTTP error in one place (gateway/errors). */
export type FailureCode = 'kv_integrity' | 'contract_mismatch' | 'worker_lost' | 'bad_ticket' | 'internal'

export type DecodeToRouter =
  | WorkerHello
  | ChannelState
  | (Identity & { readonly kind: 'reserved'; readonly lease: Lease })
  | (Identity & { readonly kind: 'declined'; readonly code: DeclineCode })
  /** All contracted pages verified; the first step follows. */
  | (Identity & { readonly kind: 'armed' })
  | (Identity & {
      readonly kind: 'token'
      readonly sequence: number
      readonly index: number
      readonly sampled: SampledToken
    })
  | (Identity & { readonly kind: 'finished'; readonly sequence: number; readonly reason: 'stop' | 'length' })
  | (Identity & { readonly kind: 'failed'; readonly code: FailureCode; readonly detail: string })
  /** Every page of the request is home again. Sent exactly once per reservation. */
  | (Identity & { readonly kind: 'released' })

export type PrefillToRouter =
  | WorkerHello
  | ChannelState
  | (Identity & { readonly kind: 'declined'; readonly code: DeclineCode })
  | (Identity & { readonly kind: 'failed'; readonly code: FailureCode; readonly detail: string })
  /** Everything was sent. `cachedTokens`: rows of the prompt that were reused and not computed. */
  | (Identity & { readonly kind: 'prefilled'; readonly cachedTokens: number })
  | (Identity & { readonly kind: 'released' })

/**
 * Transfer channel, prefill to decode. `bytes` of a page follow its frame: K rows then V rows of one layer, `rows` of them.
 * Over `shared` the frame comes alone, when the bytes stand in decode's page already.
 */
export interface PageFrame extends Identity {
  readonly kind: 'page'
  readonly lease: Lease
  readonly layer: number
  readonly ordinal: number
  readonly rows: number
  /** 16 bytes, over the rows' bytes under a key derived from the page's lineage (R8). */
  readonly seal: Uint8Array
}

/** Says what was sent in all; decode compares it with the contract before it samples (R4). */
export interface ManifestFrame extends Identity {
  readonly kind: 'manifest'
  readonly lease: Lease
  readonly pages: number
  readonly rows: number
  readonly layers: number
  readonly tokenDigest: string
}

/** Transport `shared`: the writer touches no page under this lease any more, and will not (R6). Its answer to `lease_closed`. */
export interface LeaseAcknowledged {
  readonly kind: 'lease_acknowledged'
  readonly lease: Lease
}

export type PrefillToDecode = PageFrame | ManifestFrame | LeaseAcknowledged

/**
 * Back on the same channel: the lease is closed, stop sending under it. `floor` (transport `shared`): under no lease before
 * this one may anything be stored any more, so what the writer remembers of those can go.
 */
export interface LeaseClosed {
  readonly kind: 'lease_closed'
  readonly lease: Lease
  readonly floor?: number
}

export type DecodeToPrefill = LeaseClosed
