import type { TicketClaims, TicketCrypto } from '../admission/index.ts'
import type { FreeList, PageWatch, PoolShape, PrefixScope } from '../kv/index.ts'
import type { ScrubMode } from './effects.ts'
import type { Fences } from './fences.ts'

/**
 * `socket`: between processes; the receiver places bytes, so closing a lease ends its writer. `shared`: within one process;
 * prefill stores into decode's pages itself, so decode waits for the writer's word, or for its end.
 */
export type Transport = 'socket' | 'shared'

export interface WorkerOptions {
  readonly model: string
  /** Hex digest of the weights as loaded; a ticket for others is refused. */
  readonly weights: string
  /** New in each life of a worker; part of every lease. */
  readonly epoch: number
  readonly shape: PoolShape
  readonly fences: Fences
  /** Same keys on router and both workers: HMAC-SHA-256 and SHA-256. */
  readonly crypto: TicketCrypto
  /** What happens to the rows of freed pages; `tags` leaves them as they are. */
  readonly scrub: ScrubMode
  /** Guard rows of all held pages are swept every so many passes; 0: never. */
  readonly sweepEvery: number
  /** How KV pages reach decode; default `socket`. The same for both workers of a pair. */
  readonly transport?: Transport
  /** The ledger's free list, where the laboratory hands in one that is wrong; absent in every server. */
  readonly freeList?: FreeList
  /** Told of every move of a page, where the simulator counts them; absent in every server. */
  readonly watch?: PageWatch
}

export interface PrefillOptions extends WorkerOptions {
  /** Most rows of one pass. Measured times lower and raise the limit in use below it. */
  readonly chunkRows: number
  /** Longest time one layer of a pass should take, the unit at which the forward thread yields. */
  readonly layerBudgetSeconds: number
  /** Absent: no page outlives its request, and every prompt is computed in full. No bit of any answer depends on it. */
  readonly prefixCache?: PrefixCacheOptions
}

/** Plain values, so that they travel to a worker as they are. */
export interface PrefixCacheOptions {
  /** Token ids of what the operator shares between tenants. Everything else is its own tenant's alone (R9). */
  readonly publicPrefixes: readonly Int32Array[]
  /**
   * Most bytes of KV, by tenant, that pages cached in its name may take in this pool. Bounds the cache alone: not the pages of
   * requests under way, and not public pages, which count for nobody. A tenant without an entry is bounded by the pool.
   */
  readonly quotaBytes: ReadonlyMap<string, number>
  /** Adapter and salt of a request; absent in every server, which has neither. For the laboratory. */
  readonly selectors?: (claims: TicketClaims) => Pick<PrefixScope, 'adapter' | 'salt'>
}

/** Every tenant to itself, bounded by the pool alone. */
export const privatePrefixes: PrefixCacheOptions = { publicPrefixes: [], quotaBytes: new Map() }

export interface DecodeOptions extends WorkerOptions {
  /** Most sequences of one pass, 64 by default. */
  readonly maxBatch: number
}

export interface RouterOptions {
  readonly model: string
  readonly weights: string
  readonly fences: Pick<Fences, 'identity'>
  readonly crypto: TicketCrypto
  /** Requests that may wait at once; one more fails with `queue_full`. */
  readonly queuePlaces: number
  readonly queueTimeoutMs: number
  /** How long a ticket is good for once it is issued. */
  readonly ticketLifeMs: number
  /** Lives a request may have on the workers while it has not started; a lost worker then costs time, not the request. */
  readonly maxAttempts: number
}

export const routerDefaults = {
  queuePlaces: 1024,
  queueTimeoutMs: 60_000,
  ticketLifeMs: 120_000,
  maxAttempts: 3,
} as const
export const prefillDefaults = { chunkRows: 128, layerBudgetSeconds: 0.05, scrub: 'tags', sweepEvery: 256 } as const
export const decodeDefaults = { maxBatch: 64, scrub: 'tags', sweepEvery: 256 } as const
