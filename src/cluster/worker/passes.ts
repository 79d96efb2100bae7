import type { PageHandle } from '../../kv/index.ts'
import type { ForwardPlan, SequencePlan, SequenceResult } from '../../model/index.ts'
import type { IdentityFence, SequenceIdentity } from '../fences.ts'
import type { Identity } from '../messages.ts'

/** One sequence of the pass in flight, with the pages that the pass holds and whom it is for. */
export interface PassEntry<T> {
  readonly plan: SequencePlan
  readonly grants: readonly PageHandle[]
  readonly of: T
}

export interface Pass<T> {
  readonly plan: ForwardPlan
  readonly entries: readonly PassEntry<T>[]
}

/** R10: the row that stands where this sequence's must, if it names this sequence. Null: whose numbers these are is unknown. */
export const resultFor = (
  plan: SequencePlan,
  row: SequenceResult | undefined,
  identity: IdentityFence,
): SequenceResult | null =>
  row !== undefined && identity(named(plan, plan.sample?.sequence ?? null), named(row, row.sequence)) ? row : null

const named = (value: Identity, sequence: number | null): SequenceIdentity => ({
  requestId: value.requestId,
  attempt: value.attempt,
  sequence,
})
