import type { ForwardResult } from '../model/index.ts'
import type {
  DecodeToPrefill,
  DecodeToRouter,
  Lease,
  ManifestFrame,
  PageFrame,
  PrefillToRouter,
  RouterToDecode,
  RouterToPrefill,
} from './messages.ts'
import type { EngineRequest } from './port.ts'

/** Time enters through events alone: milliseconds of the cluster's clock, never going back. */
export interface Timed {
  readonly now: number
}

/** Events that both workers know. */
export type WorkerEvent =
  /**
   * First event of a machine's life; answered by `send hello`, which the runtime holds back until the channel has been opened
   * on both sides: a worker that cannot reach the other is of no use to the router.
   */
  | { readonly kind: 'start' }
  /**
   * The transfer channel is open; frames may be sent and will come. Decode's is stepped only after prefill has stepped the
   * `link_down` of the channel before (prefill is the one that connects, and connects anew only then).
   * `from`: for prefill over `shared`, see `OpenLeasesEffect`.
   */
  | { readonly kind: 'link_up'; readonly from?: Lease }
  /**
   * The transfer channel is gone: nothing more is read from or written to it, frames under way are lost. Over `shared` it is
   * decode's alone, and is stepped when prefill's thread is known ended: the proof that it stores nothing any more (R6).
   */
  | { readonly kind: 'link_down' }
  /** The end of a `forward` effect. `seconds` is the time the pass took on the forward thread; it steers chunk sizes. */
  | { readonly kind: 'forward_done'; readonly result: ForwardResult; readonly seconds: number }
  | { readonly kind: 'scrubbed'; readonly id: number }
  | {
      readonly kind: 'swept'
      readonly id: number
      readonly fault: { readonly page: number; readonly layer: number } | null
    }

export type PrefillEvent = Timed &
  (
    | WorkerEvent
    | { readonly kind: 'message'; readonly message: RouterToPrefill }
    /** Came back on the transfer channel. */
    | { readonly kind: 'peer'; readonly message: DecodeToPrefill }
    /** All rows of this layer of the pass stand in the pool. In order, before `forward_done`. */
    | { readonly kind: 'layer_done'; readonly planId: number; readonly layer: number }
    /** `fault`: why nothing was sent. `lease_gone`: the page that it was to go to is another's. */
    | { readonly kind: 'page_sent'; readonly id: number; readonly fault?: 'page_tag' | 'unfilled_row' | 'lease_gone' }
    /** One seal for each layer, or none. */
    | {
        readonly kind: 'page_published'
        readonly id: number
        readonly guarded: boolean
        readonly seals: readonly Uint8Array[]
      }
    | { readonly kind: 'page_verified'; readonly id: number; readonly ok: boolean }
    /** Give up every cached prefix: pages that nobody reads at once, the others when their readers are done. */
    | { readonly kind: 'flush_prefixes' }
  )

export type DecodeEvent = Timed &
  (
    | WorkerEvent
    | { readonly kind: 'message'; readonly message: RouterToDecode }
    /** A frame's header came in and its bytes are at hand; answered by exactly one `place` or `discard`. */
    | { readonly kind: 'page_frame'; readonly frame: PageFrame }
    | { readonly kind: 'manifest'; readonly frame: ManifestFrame }
    | { readonly kind: 'placed'; readonly id: number; readonly outcome: 'ok' | 'bad_seal' }
    | { readonly kind: 'copied'; readonly id: number }
    /** Transport `shared`: the writer's last word on this lease. */
    | { readonly kind: 'acknowledged'; readonly lease: Lease }
  )

export type RouterEvent = Timed &
  (
    | { readonly kind: 'submit'; readonly request: EngineRequest }
    | { readonly kind: 'abort'; readonly requestId: string }
    | { readonly kind: 'finish_sequence'; readonly requestId: string; readonly sequence: number }
    /** A message of the worker that runs under this epoch; its `hello` brings it up. */
    | { readonly kind: 'from_prefill'; readonly epoch: number; readonly message: PrefillToRouter }
    | { readonly kind: 'from_decode'; readonly epoch: number; readonly message: DecodeToRouter }
    /** The worker's process is known ended; no message of this epoch follows. */
    | {
        readonly kind: 'worker_down'
        readonly role: 'prefill' | 'decode'
        readonly epoch: number
        readonly reason: string
      }
    | { readonly kind: 'tick' }
  )
