import type { TicketClaims } from '../../admission/index.ts'
import type { ContractLayout, PageGrant, PageTable } from '../../kv/index.ts'
import { firstPages, pageTable, sequencePages } from '../../kv/index.ts'
import type { SamplingParams } from '../../model/index.ts'
import type { Identity, Lease, ManifestFrame, Reserve } from '../messages.ts'
import type { Holding } from '../worker/pages.ts'
import { Delivered } from './delivered.ts'

/**
 * `filling`: pages are reserved, frames may come. `copying`: all is verified, tails are being copied for the n sequences.
 * `running`: armed, steps are planned. `over`: the lease is closed, pages drain; nothing begins any more.
 */
export type DecodePhase = 'filling' | 'copying' | 'running' | 'over'

/** One reservation in decode, from the lease on. */
export interface DecodeRequest extends Identity {
  readonly lease: Lease
  readonly claims: TicketClaims
  readonly ids: Int32Array
  readonly sampling: SamplingParams
  readonly endIds: ReadonlySet<number>
  readonly layout: ContractLayout
  readonly holding: Holding
  /** Digest of the ids up to each prompt page's end. */
  readonly digests: readonly Uint8Array[]
  readonly delivered: Delivered
  readonly sequences: readonly DecodeSequence[]
  manifest: ManifestFrame | null
  phase: DecodePhase
}

/** One of the n answers. */
export interface DecodeSequence {
  readonly index: number
  readonly grants: readonly PageGrant[]
  readonly table: PageTable
  /** The first pages of both, as the last step needed them; a step needs one more page only now and then. */
  visible: { readonly grants: readonly PageGrant[]; readonly table: PageTable }
  /** Tokens drawn so far; also the index of the next. */
  drawn: number
  lastToken: number
  lastPass: number
  readonly arrival: number
  finished: boolean
}

export interface NewRequest {
  readonly message: Reserve
  readonly lease: Lease
  readonly layout: ContractLayout
  readonly holding: Holding
  readonly digests: readonly Uint8Array[]
  readonly layers: number
  readonly arrival: number
}

export const newRequest = ({
  message,
  lease,
  layout,
  holding,
  digests,
  layers,
  arrival,
}: NewRequest): DecodeRequest => ({
  requestId: message.requestId,
  attempt: message.attempt,
  lease,
  claims: message.ticket.claims,
  ids: message.ids,
  sampling: message.sampling,
  endIds: new Set(message.endIds),
  layout,
  holding,
  digests,
  delivered: new Delivered(layout.promptPages, layers),
  sequences: Array.from({ length: message.ticket.claims.n }, (_, index) => {
    const grants = sequencePages(layout, index).map((at) => holding.grants[at]!)
    const table = pageTable(grants)
    return {
      index,
      grants,
      table,
      visible: { grants, table },
      drawn: 0,
      lastToken: -1,
      lastPass: -1,
      arrival: arrival + index,
      finished: false,
    }
  }),
  manifest: null,
  phase: 'filling',
})

/** The first `pages` pages of a sequence. */
export const visiblePages = (sequence: DecodeSequence, pages: number): DecodeSequence['visible'] => {
  if (sequence.visible.grants.length !== pages) {
    sequence.visible = { grants: sequence.grants.slice(0, pages), table: firstPages(sequence.table, pages) }
  }
  return sequence.visible
}
