import type { TicketClaims } from '../../admission/index.ts'
import { firstPages } from '../../kv/index.ts'
import type { SequencePlan } from '../../model/index.ts'
import { identityOf } from '../identity.ts'
import type { Identity, Lease } from '../messages.ts'
import type { Holding } from '../worker/pages.ts'

/** One prompt on its way through prefill. */
export interface PrefillJob extends Identity {
  readonly arrival: number
  readonly claims: TicketClaims
  readonly ids: Int32Array
  readonly lease: Lease
  /** Digest of the ids up to each page's end. */
  readonly digests: readonly Uint8Array[]
  readonly holding: Holding
  /** Rows that stand in every layer. */
  computed: number
  /** Per layer, how many pages have been handed to the channel. */
  readonly sentPages: Uint32Array
  over: boolean
}

export const remainingRows = (job: PrefillJob): number => job.ids.length - job.computed

export const chunkPlan = (job: PrefillJob, rows: number, pageSize: number): SequencePlan => ({
  ...identityOf(job),
  tokens: job.ids.subarray(job.computed, job.computed + rows),
  start: job.computed,
  write: 'append',
  table: firstPages(job.holding.table, Math.ceil((job.computed + rows) / pageSize)),
  sample: null,
})

/** Rows that page `ordinal` has once the whole prompt stands. */
export const promptRowsOf = (promptTokens: number, ordinal: number, pageSize: number): number =>
  Math.min(pageSize, promptTokens - ordinal * pageSize)
