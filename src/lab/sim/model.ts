import type { KernelChecks } from '../../kernels/index.ts'
import type {
  ForwardFault,
  ForwardPlan,
  ForwardResult,
  SampledToken,
  SampleRequest,
  SequencePlan,
} from '../../model/index.ts'
import { mix } from './hash.ts'
import type { SimMemory } from './memory.ts'

export const VOCAB = 61

/** State of a token before the first layer. */
export const embed = (token: number, position: number): number => mix(mix(0x1234567, token), position)
/** What a layer keeps of a token. */
export const keep = (state: number, layer: number): number => mix(state, 0x9000 + layer)
/** State after a layer has looked at `seen`, the running hash over all visible rows. */
export const attend = (state: number, seen: number): number => mix(state, seen)

/** A token drawn from the state after the last layer; depends on nothing else but (seed, sequence, index). */
export const drawToken = (state: number, { params, sequence, index }: SampleRequest): SampledToken => {
  const draw = mix(mix(mix(state, params.seed), sequence), index)
  return { token: draw % VOCAB, logprob: params.topLogprobs === null ? null : -(state % 1000) / 100, top: [] }
}

/** Tells whoever watches that the row of a position was read by a sequence that had passed all checks. */
export type ReadWatcher = (reader: number, writer: number, fresh: boolean, page: number, position: number) => void

/**
 * One pass over the same page tables that the kernel would read, layer by layer, so that whatever happens meanwhile happens
 * in between. Every visible row enters a running hash: one foreign or unfilled row changes the answer. Checks what the
 * attention kernel checks (tags, filled rows, order of writes), each only if switched on.
 */
export class ForwardRun {
  readonly #plan: ForwardPlan
  readonly #memory: SimMemory
  readonly #checks: KernelChecks
  readonly #readers: readonly number[]
  readonly #watch: ReadWatcher
  readonly #states: Uint32Array[]
  readonly #faults: (ForwardFault | null)[]

  constructor(
    plan: ForwardPlan,
    memory: SimMemory,
    checks: KernelChecks,
    readers: readonly number[],
    watch: ReadWatcher,
  ) {
    this.#plan = plan
    this.#memory = memory
    this.#checks = checks
    this.#readers = readers
    this.#watch = watch
    this.#states = plan.sequences.map(({ tokens, start }) => {
      const states = new Uint32Array(tokens.length)
      for (let i = 0; i < tokens.length; i++) states[i] = embed(tokens[i]!, start + i)
      return states
    })
    this.#faults = plan.sequences.map(() => null)
  }

  layer(layer: number): void {
    for (let i = 0; i < this.#plan.sequences.length; i++) {
      if (this.#faults[i] === null)
        this.#faults[i] = this.#sequence(this.#plan.sequences[i]!, this.#states[i]!, this.#readers[i]!, layer)
    }
  }

  result(): ForwardResult {
    const results = this.#plan.sequences.map((one, i) => {
      const fault = this.#faults[i]!
      const state = this.#states[i]!.at(-1)!
      const sampled = fault === null && one.sample !== null ? drawToken(state, one.sample) : null
      return { requestId: one.requestId, attempt: one.attempt, sequence: one.sample?.sequence ?? null, fault, sampled }
    })
    return { id: this.#plan.id, results }
  }

  #sequence(plan: SequencePlan, states: Uint32Array, reader: number, layer: number): ForwardFault | null {
    const { pageSize } = this.#memory.shape
    const fault = this.#check(plan, layer)
    if (fault !== null) return fault
    for (let i = 0; i < states.length; i++) {
      const position = plan.start + i
      const page = plan.table.pages[Math.floor(position / pageSize)]!
      if (plan.write === 'append') {
        this.#memory.write(page, layer, position % pageSize, keep(states[i]!, layer), reader)
        this.#memory.markFilled(page, layer, (position % pageSize) + 1)
      }
      states[i] = attend(states[i]!, this.#look(plan, position + 1, reader, layer))
    }
    return null
  }

  #look(plan: SequencePlan, rows: number, reader: number, layer: number): number {
    const memory = this.#memory
    const { pageSize } = memory.shape
    let hash = 0
    for (let ordinal = 0; ordinal * pageSize < rows; ordinal++) {
      const page = plan.table.pages[ordinal]!
      const at = memory.at(page, layer)
      const visible = Math.min(pageSize, rows - ordinal * pageSize)
      for (let row = at; row < at + visible; row++) {
        hash = mix(hash, memory.rows[row]!)
        const position = ordinal * pageSize + row - at
        this.#watch(reader, memory.writers[row]!, memory.claims[row] === memory.claimed[page], page, position)
      }
    }
    return hash
  }

  #check(plan: SequencePlan, layer: number): ForwardFault | null {
    const { tags, filled, guards } = this.#checks
    const memory = this.#memory
    const { pageSize } = memory.shape
    const standing = plan.write === 'append' ? plan.start : plan.start + 1
    for (let ordinal = 0; ordinal < plan.table.pages.length; ordinal++) {
      const page = plan.table.pages[ordinal]!
      const own =
        memory.owner[page] === plan.table.owners[ordinal] && memory.generation[page] === plan.table.generations[ordinal]
      if (tags && !own) return { kind: 'page_tag', page, layer }
      if (guards && memory.spoiled[page] === 1) return { kind: 'guard_row', page, layer }
      const wanted = Math.min(pageSize, standing - ordinal * pageSize)
      if (filled && memory.filled(page, layer) < wanted) return { kind: 'unfilled_row', page, layer }
    }
    const first = plan.table.pages[Math.floor(plan.start / pageSize)]!
    if (filled && plan.write === 'append' && memory.filled(first, layer) !== plan.start % pageSize)
      return { kind: 'write_order', page: first, layer }
    return null
  }
}
