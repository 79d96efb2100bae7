import type { ForwardFault, SampledToken, SequencePlan, SequenceResult } from './plan.ts'

/** One sequence of a pass and what has become of it. */
export interface BatchEntry {
  readonly plan: SequencePlan
  readonly index: number
}

/**
 * The sequences of one pass that are still without fault, their rows packed one after the other in the order of the plan.
 * Results carry the identity of the plan's entry they belong to, whoever has left meanwhile (R10).
 */
export class Batch {
  readonly #plans: readonly SequencePlan[]
  readonly #faults: (ForwardFault | null)[]
  readonly #sampled: (SampledToken | null)[]
  #active: readonly BatchEntry[]

  constructor(plans: readonly SequencePlan[]) {
    this.#plans = plans
    this.#faults = plans.map(() => null)
    this.#sampled = plans.map(() => null)
    this.#active = plans.map((plan, index) => ({ plan, index }))
  }

  get active(): readonly BatchEntry[] {
    return this.#active
  }

  get rows(): number {
    return this.#active.reduce((sum, { plan }) => sum + plan.tokens.length, 0)
  }

  lastRowOf(entry: BatchEntry): number {
    let end = 0
    for (const { plan, index } of this.#active) {
      end += plan.tokens.length
      if (index === entry.index) return end - 1
    }
    throw new RangeError('the sequence has left the batch')
  }

  /** The first fault of a sequence stands. */
  fault(entry: BatchEntry, fault: ForwardFault): void {
    this.#faults[entry.index] ??= fault
  }

  sampled(entry: BatchEntry, token: SampledToken): void {
    this.#sampled[entry.index] = token
  }

  /** Takes the sequences with a fault out of the batch, and their rows out of these arrays. */
  drop(...arrays: readonly { readonly data: Float32Array; readonly width: number }[]): void {
    if (this.#active.every(({ index }) => this.#faults[index] === null)) return
    for (const { data, width } of arrays) this.#compact(data, width)
    this.#active = this.#active.filter(({ index }) => this.#faults[index] === null)
  }

  results(): SequenceResult[] {
    return this.#plans.map(({ requestId, attempt, sample }, index) => {
      const fault = this.#faults[index] ?? null
      const sampled = fault === null && sample !== null ? (this.#sampled[index] ?? null) : null
      return { requestId, attempt, sequence: sample?.sequence ?? null, fault, sampled }
    })
  }

  #compact(data: Float32Array, width: number): void {
    let from = 0
    let to = 0
    for (const { plan, index } of this.#active) {
      const length = plan.tokens.length * width
      if (this.#faults[index] === null) {
        data.copyWithin(to, from, from + length)
        to += length
      }
      from += length
    }
  }
}
