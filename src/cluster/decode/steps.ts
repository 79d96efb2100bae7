import { pickBatch } from '../../engine/index.ts'
import type { LedgerFault } from '../../kv/index.ts'
import type { SequencePlan } from '../../model/index.ts'
import type { WorkerPages } from '../worker/pages.ts'
import { type DecodeRequest, type DecodeSequence, visiblePages } from './request.ts'

/** A sequence that takes part in a pass. */
export interface Step {
  readonly request: DecodeRequest
  readonly sequence: DecodeSequence
}

/** The sequences of the next pass, fair over tenants when there are more than fit. */
export const pickSteps = (requests: Iterable<DecodeRequest>, maxBatch: number): readonly Step[] => {
  const runnable: (Step & { readonly tenant: string; readonly lastPass: number; readonly arrival: number })[] = []
  for (const request of requests) {
    if (request.phase !== 'running') continue
    for (const sequence of request.sequences) {
      if (sequence.finished) continue
      const { lastPass, arrival } = sequence
      runnable.push({ request, sequence, tenant: request.claims.tenant, lastPass, arrival })
    }
  }
  return pickBatch(runnable, maxBatch)
}

/**
 * One row. The first step recomputes the last prompt token, whose KV came from prefill; each later one appends the token
 * drawn before. Either way the pass draws the token after it.
 */
export const stepPlan = ({ request, sequence }: Step, pageSize: number): SequencePlan => {
  const first = sequence.drawn === 0
  const start = request.ids.length + sequence.drawn - 1
  return {
    requestId: request.requestId,
    attempt: request.attempt,
    tokens: Int32Array.of(first ? request.ids[start]! : sequence.lastToken),
    start,
    write: first ? 'recompute' : 'append',
    table: visiblePages(sequence, Math.floor(start / pageSize) + 1).table,
    sample: { params: request.sampling, sequence: sequence.index, index: sequence.drawn },
  }
}

/** R5 when the plan is built: all rows it reads stand and are its own, and the row it writes follows them. */
export const checkStep = (
  pages: WorkerPages,
  plan: SequencePlan,
  { sequence }: Step,
  pageSize: number,
): LedgerFault | null => {
  if (plan.write === 'recompute') return pages.checkRead(plan.table, plan.start + 1)
  const page = Math.floor(plan.start / pageSize)
  return pages.checkRead(plan.table, plan.start) ?? pages.checkWrite(sequence.grants[page]!, plan.start % pageSize, 1)
}
