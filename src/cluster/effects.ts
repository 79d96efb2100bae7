import type { PageTable } from '../kv/index.ts'
import type { ForwardPlan } from '../model/index.ts'
import type { TelemetryEvent } from '../telemetry/index.ts'
import type {
  DecodeToRouter,
  Lease,
  ManifestFrame,
  PageFrame,
  PrefillToRouter,
  RouterToDecode,
  RouterToPrefill,
} from './messages.ts'
import type { EngineEvent } from './port.ts'

/**
 * What a machine asks of the world. The contract with whoever drives it (runtime, simulator):
 *
 * - `step(event)` returns effects; all of them are executed **in order, before the next step** of the same machine.
 *   Events that an effect causes are queued and stepped later, never from inside the loop that executes effects.
 * - Effects that touch page bytes name an id and are *held*: the pages they name stay taken (holder in brackets) until the
 *   event with the same id is stepped. The runtime steps that event once it will not touch those bytes again, and exactly
 *   once per effect. It may do the work at once or later, but in the order of the effects.
 *
 *   | effect      | holder     | released by                         |
 *   |-------------|------------|-------------------------------------|
 *   | `forward`   | [step]     | `forward_done` (same plan id)       |
 *   | `place`     | [writer]   | `placed` (same id)                  |
 *   | `send_page` | [reader]   | `page_sent` (same id) or `link_down`|
 *   | a lease with a `target` | [writer] | its manifest, `acknowledged`, or a `link_down` or `link_up` at decode |
 *   | `copy_rows` | [copy]     | `copied` (same id)                  |
 *   | `publish_page` | [reader] | `page_published` (same id)         |
 *   | `verify_page` | [reader]  | `page_verified` (same id)          |
 *   | `scrub`     | quarantine | `scrubbed` (same id)                |
 *
 * - `claim`, `retire`, `revoke` and the new tag of `publish_page` are executed at once: they are the moments at which tags change hands.
 * - At most one `forward` per machine is in flight. Passes are not cancelled: an aborted request's rows run to the end of
 *   the pass, and its pages drain until then.
 * - No effect carries text; token ids travel in plans and messages alone.
 */
export interface ForwardEffect {
  readonly kind: 'forward'
  /** Answered by `layer_done` events (prefill only) and one `forward_done`. */
  readonly plan: ForwardPlan
}

/** `kernels.claim`: stamps tags and guard rows, filled rows 0. `ordinals[i]` is the page's place in its table. */
export interface ClaimEffect {
  readonly kind: 'claim'
  readonly pages: Uint32Array
  readonly owners: Uint32Array
  readonly generations: Uint32Array
  readonly ordinals: Uint32Array
}

/**
 * A page is published: it belongs to the prefix index from here on. At once, as one: are its guard rows whole under the tag `from`?
 * Then `kernels.retag` to `to`, which would mend them. Then `kernels.seal` over `rows` rows in each layer under that layer's key
 * (none where R8 is off), and step `page_published{id, guarded, seals}`.
 */
export interface PublishPageEffect {
  readonly kind: 'publish_page'
  readonly id: number
  readonly page: number
  readonly ordinal: number
  readonly from: PageTag
  readonly to: PageTag
  readonly rows: number
  /** One for each layer, or null. */
  readonly lineageKeys: readonly Uint8Array[] | null
}

export interface PageTag {
  readonly owner: number
  readonly generation: number
}

/** `kernels.seal` as for `publish_page`, compared with the seals given (in constant time), then step `page_verified{id, ok}`. */
export interface VerifyPageEffect {
  readonly kind: 'verify_page'
  readonly id: number
  readonly page: number
  readonly rows: number
  readonly lineageKeys: readonly Uint8Array[]
  readonly seals: readonly Uint8Array[]
}

/** `kernels.retire(pages, scrub)`: the pages are free from here on; a later `claim` in the same list may take them. */
export interface RetireEffect {
  readonly kind: 'retire'
  readonly pages: Uint32Array
  readonly scrub: ScrubMode
}

/**
 * Pages just quarantined, held or not: `kernels.retire(pages, 'tags')`. From here on nothing that was begun before finds what
 * it expects there: a pass in flight ends that sequence, a send that waits does not send (R5). They stay claimed.
 */
export interface RevokeEffect {
  readonly kind: 'revoke'
  readonly pages: Uint32Array
}

/** Quarantined pages: `kernels.retire(pages, 'zero')`, then step `scrubbed{id}`: the proof that lets them come home. */
export interface ScrubEffect {
  readonly kind: 'scrub'
  readonly id: number
  readonly pages: Uint32Array
}

/** `kernels.checkGuards(table)` over every held page, then step `swept{id, fault}`. */
export interface SweepEffect {
  readonly kind: 'sweep'
  readonly id: number
  readonly table: PageTable
}

/** Step `tick` at this time (the machine's clock) or a little later. Each replaces the one before; null: none wanted. */
export interface TimerEffect {
  readonly kind: 'set_timer'
  readonly at: number | null
}

export interface TelemetryEffect {
  readonly kind: 'telemetry'
  readonly event: TelemetryEvent
}

type CommonWorkerEffect =
  | ForwardEffect
  | ClaimEffect
  | RetireEffect
  | RevokeEffect
  | ScrubEffect
  | SweepEffect
  | TelemetryEffect

/**
 * Read `rows` rows of one layer of the page out of the pool, seal them under `lineageKey` and write frame and bytes to the
 * channel, then step `page_sent{id}` (as soon as the bytes are copied out of the pool; back-pressure may delay it).
 * First, as the bytes are read: the page's tag is `tag` and `rows` rows stand in this layer (R5), or nothing is sent and the
 * event says what was found. The seal is made here, so a page that is another's by now would verify as this one's.
 * `lineageKey` null (R8 off): the frame's seal is 16 zero bytes. `frame` lacks only the seal.
 *
 * With a `target` (transport `shared`) the rows are stored into that page of decode's pool instead, the seal is made over what was
 * read, and the frame follows without bytes. First the target's tag is compared, as it stands in decode's memory: if it is
 * another's by now nothing is stored, and the event says `lease_gone`. A tag may still change hands during the store: what
 * keeps the page from its next owner until then is decode's fence, not this comparison (R6).
 */
export interface SendPageEffect {
  readonly kind: 'send_page'
  readonly id: number
  readonly page: number
  /** Null where R5 is off: nothing is looked at. */
  readonly tag: PageTag | null
  readonly frame: Omit<PageFrame, 'seal'>
  readonly lineageKey: Uint8Array | null
  /** Null over a socket. */
  readonly target: { readonly page: number; readonly tag: PageTag | null } | null
}

/** Write the manifest to the channel, after every frame of the earlier `send_page` effects (over `shared`: and after their stores). */
export interface SendManifestEffect {
  readonly kind: 'send_manifest'
  readonly frame: ManifestFrame
}

/** Transport `shared`: once every earlier store is over, tell decode that nothing is stored under this lease any more. */
export interface SendAcknowledgeEffect {
  readonly kind: 'send_acknowledge'
  readonly lease: Lease
}

export type PrefillEffect =
  | CommonWorkerEffect
  | { readonly kind: 'send'; readonly message: PrefillToRouter }
  | SendPageEffect
  | SendManifestEffect
  | SendAcknowledgeEffect
  | PublishPageEffect
  | VerifyPageEffect

/**
 * Answer to a `page_frame` event: `kernels.writeRows(page, layer, rows, bytes)`, compute `kernels.seal` under `lineageKey`
 * and compare it with the frame's seal (in constant time), and only if equal `kernels.markFilled(page, layer, rows)`; then
 * step `placed{id, outcome}`. `lineageKey` null (R8 off): no comparison.
 * The page is `frame.rows` rows long at most; the bytes belong to the frame just stepped.
 */
export interface PlaceEffect {
  readonly kind: 'place'
  readonly id: number
  readonly page: number
  readonly layer: number
  readonly rows: number
  readonly seal: Uint8Array
  readonly lineageKey: Uint8Array | null
  /** The writer has stored the bytes: there is nothing to write, only to seal and to mark. */
  readonly stored: boolean
}

/** Answer to a `page_frame` event: read the frame's bytes off the channel and drop them. */
export interface DiscardEffect {
  readonly kind: 'discard'
  readonly reason: DiscardReason
}

export type DiscardReason = 'unknown_lease' | 'wrong_identity' | 'out_of_bounds' | 'duplicate' | 'closed'

/** `kernels.copyRows` for each, then step `copied{id}`. */
export interface CopyRowsEffect {
  readonly kind: 'copy_rows'
  readonly id: number
  readonly copies: readonly { readonly from: number; readonly to: number; readonly rows: number }[]
}

/** Tell prefill on the channel's way back that a lease is closed; nothing is written if the channel is down. */
export interface CloseLeaseEffect {
  readonly kind: 'close_lease'
  readonly lease: Lease
  /** See `LeaseClosed`. */
  readonly floor?: number
}

/**
 * Answer to `link_up` (transport `shared`): the new life of prefill may store under leases of this life of decode, from `from` on.
 * Prefill's `link_up` is stepped with it when it arrives there, and not before.
 */
export interface OpenLeasesEffect {
  readonly kind: 'open_leases'
  readonly from: Lease
}

/**
 * The peer broke the protocol beyond one request: destroy the channel, then step `link_down`. Over `shared` the channel is
 * the life of prefill's thread.
 */
export interface CloseLinkEffect {
  readonly kind: 'close_link'
  readonly reason: string
}

export type DecodeEffect =
  | CommonWorkerEffect
  | { readonly kind: 'send'; readonly message: DecodeToRouter }
  | PlaceEffect
  | DiscardEffect
  | CopyRowsEffect
  | CloseLeaseEffect
  | OpenLeasesEffect
  | CloseLinkEffect

export type RouterEffect =
  /** Dropped by the runtime if the worker of that epoch is gone. */
  | { readonly kind: 'to_decode'; readonly epoch: number; readonly message: RouterToDecode }
  | { readonly kind: 'to_prefill'; readonly epoch: number; readonly message: RouterToPrefill }
  /** To the sink of the request. Exactly one `done` or `failed` per submitted request, and nothing after it. */
  | { readonly kind: 'deliver'; readonly requestId: string; readonly event: EngineEvent }
  | TimerEffect
  | TelemetryEffect

export type ScrubMode = 'tags' | 'zero' | 'poison'
