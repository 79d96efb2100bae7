import type { TicketClaims } from '../../admission/index.ts'
import {
  firstPages,
  type PageHandle,
  type PageTable,
  type PrefixNode,
  type PrefixPage,
  pageTable,
} from '../../kv/index.ts'
import type { SequencePlan } from '../../model/index.ts'
import type { Identity, Lease, Prefill } from '../messages.ts'
import type { Holding } from '../worker/pages.ts'

/** One prompt on its way through prefill. */
export interface PrefillJob extends Identity {
  readonly arrival: number
  readonly claims: TicketClaims
  readonly ids: Int32Array
  readonly lease: Lease
  /** Digest of the ids up to each page's end. */
  readonly digests: readonly Uint8Array[]
  /** Published pages it begins with; it reads them and never writes them. */
  readonly borrowed: readonly PrefixNode[]
  /** Its own pages, which follow. */
  readonly holding: Holding
  /** All pages of the prompt in order of position. */
  readonly handles: readonly PageHandle[]
  readonly table: PageTable
  /** Its full pages as the prefix index knows them; empty where there is none. */
  readonly prefix: readonly PrefixPage[]
  /** Borrowed pages whose seals are being checked; nothing is computed or sent before all are. */
  verifying: number
  /** Passes, sends and checks under way that may touch its pages. */
  busy: number
  /** Rows that stand in every layer. */
  computed: number
  /** Per layer, how many pages have been handed to the channel. */
  readonly sentPages: Uint32Array
  over: boolean
  /** How it ended, once it is over. */
  ending: 'complete' | 'aborted'
  /** Its pages were published or given up, and those it borrowed given back. */
  cleared: boolean
}

export interface NewJob {
  readonly message: Prefill
  readonly arrival: number
  readonly digests: readonly Uint8Array[]
  readonly borrowed: readonly PrefixNode[]
  readonly holding: Holding
  readonly prefix: readonly PrefixPage[]
  readonly layers: number
}

export const newJob = ({ message, arrival, digests, borrowed, holding, prefix, layers }: NewJob): PrefillJob => {
  const handles = [...borrowed.map((node) => node.view), ...holding.grants]
  return {
    requestId: message.requestId,
    attempt: message.attempt,
    arrival,
    claims: message.ticket.claims,
    ids: message.ids,
    lease: message.lease,
    digests,
    borrowed,
    holding,
    handles,
    table: pageTable(handles),
    prefix,
    verifying: 0,
    busy: 0,
    computed: 0,
    sentPages: new Uint32Array(layers),
    over: false,
    ending: 'aborted',
    cleared: false,
  }
}

export const remainingRows = (job: PrefillJob): number => job.ids.length - job.computed

export const chunkPlan = (job: PrefillJob, rows: number, pageSize: number): SequencePlan => ({
  requestId: job.requestId,
  attempt: job.attempt,
  tokens: job.ids.subarray(job.computed, job.computed + rows),
  start: job.computed,
  write: 'append',
  table: firstPages(job.table, Math.ceil((job.computed + rows) / pageSize)),
  sample: null,
})

/** Rows that page `ordinal` has once the whole prompt stands. */
export const promptRowsOf = (promptTokens: number, ordinal: number, pageSize: number): number =>
  Math.min(pageSize, promptTokens - ordinal * pageSize)
