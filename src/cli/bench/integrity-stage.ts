import type { DigestTools } from '../../host/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'
import { lineageKey, prefixDigests } from '../../kv/index.ts'
import type { ForwardPass, ModelShape, SequencePlan } from '../../model/index.ts'
import { sealsAgree } from '../../runtime/index.ts'

export const PAGE = 16
/** Not a whole number of pages: a step writes into a page that has rows. */
export const CONTEXT = 136

export interface StageOptions {
  readonly now: () => number
  readonly digests: DigestTools
  /** A page of the pool that no sequence uses. */
  readonly sparePage: number
}

export type StageStep = (pass: ForwardPass, after: () => void) => Promise<number>

/** Sequences that stand in the pool, and steps that can be taken again and again: what they wrote is unwritten, untimed. */
export class Stage {
  readonly #shape: ModelShape
  readonly #kernels: PoolKernels
  readonly #options: StageOptions
  readonly #spare: Uint32Array
  #requests = 0

  constructor(shape: ModelShape, kernels: PoolKernels, options: StageOptions) {
    this.#shape = shape
    this.#kernels = kernels
    this.#options = options
    this.#spare = Uint32Array.of(options.sparePage)
  }

  decodeStep(batch: number): StageStep {
    const perSequence = pageUp(CONTEXT + 1) / PAGE
    const tables = Array.from({ length: batch }, (_, i) => this.#claim(i * perSequence, perSequence, i + 1))
    for (const { pages } of tables) this.#fill(pages, CONTEXT)
    const sequences = tables.map((table, i) => this.#rows(table, CONTEXT, 1, i, true))
    return this.#timed(sequences, () => {
      for (const { pages } of tables) this.#mark(pages[perSequence - 1]!, CONTEXT % PAGE)
    })
  }

  prefillChunk(rows: number): StageStep {
    const table = this.#claim(0, pageUp(rows) / PAGE, 1)
    return this.#timed([this.#rows(table, 0, rows, 0, false)], () => {
      for (const page of table.pages) this.#mark(page, 0)
    })
  }

  /** What every request's ticket needs, seals or not: the processor's caches lose the code of a hash during a step. */
  checkTicket(): void {
    this.#options.digests.sha256(TICKET)
  }

  /** Seals so many pages in every layer, keys and digests derived: what the sender does. */
  seal(pages: number): void {
    const digests = this.#digests(this.#prompt(pages))
    for (let layer = 0; layer < this.#shape.layers; layer++) {
      for (let page = 0; page < pages; page++) {
        this.#kernels.seal(page, layer, PAGE, this.#key(digests, layer, page))
      }
    }
  }

  /** Milliseconds to verify so many pages before they are placed; placing them is no part of it, since `off` does so as well. */
  arrival(pages: number): number {
    const { now } = this.#options
    const rows = new Uint8Array(this.#kernels.rowBytes(PAGE))
    const ids = this.#prompt(pages)
    this.checkTicket()
    let start = now()
    const chain = this.#digests(ids)
    let ms = now() - start
    for (let layer = 0; layer < this.#shape.layers; layer++) {
      start = now()
      for (let page = 0; page < pages; page++) {
        sealsAgree(this.#kernels.sealRows(layer, PAGE, rows, this.#key(chain, layer, page)), RECEIVED)
      }
      ms += now() - start
      for (let page = 0; page < pages; page++) this.#kernels.writeRows(this.#spare[0]!, layer, PAGE, rows)
    }
    return ms
  }

  /** All that sealing needs besides the bytes: digests of the tokens, and keys for every layer. */
  deriveKeys(pages: number): void {
    const digests = this.#digests(this.#prompt(pages))
    for (let layer = 0; layer < this.#shape.layers; layer++) {
      for (let page = 0; page < pages; page++) this.#key(digests, layer, page)
    }
  }

  free(mode: 'tags' | 'zero' | 'poison'): void {
    this.#kernels.retire(this.#spare, mode)
  }

  claimSpare(): void {
    this.#kernels.claim(this.#spare, ONE, ONE, ONE)
  }

  sweepMicros(batch: number): number {
    const pages = (batch * pageUp(CONTEXT + 1)) / PAGE
    const table = this.#claim(0, pages, 1)
    return this.micros(() => this.#kernels.checkGuards(table)) / pages
  }

  /** Median of many calls, in microseconds. */
  micros(call: () => unknown): number {
    const { now } = this.#options
    const times: number[] = []
    for (let round = 0; round < 200; round++) {
      const start = now()
      for (let i = 0; i < 20; i++) call()
      times.push(((now() - start) * 1_000) / 20)
    }
    return times.sort((a, b) => a - b)[100]!
  }

  #timed(sequences: readonly SequencePlan[], undo: () => void): StageStep {
    const { now } = this.#options
    const plan = { id: 0, sequences }
    return async (pass, after) => {
      const start = now()
      const { results } = await pass.run(plan, () => undefined)
      after()
      const ms = now() - start
      const fault = results.find((result) => result.fault !== null)?.fault
      if (fault) throw new Error(`the bench's own pages gave a fault: ${fault.kind}`)
      undo()
      return ms
    }
  }

  /** Of a new request, so that nothing is remembered. */
  #prompt(pages: number): Int32Array {
    this.#requests += 1
    return new Int32Array(pages * PAGE).fill(this.#requests % this.#shape.vocab)
  }

  #digests(ids: Int32Array): readonly Uint8Array[] {
    return prefixDigests(ids, PAGE, this.#options.digests.sha256)
  }

  #key(digests: readonly Uint8Array[], layer: number, ordinal: number): Uint8Array {
    const lineage = {
      namespace: `bench-${this.#requests}/1`,
      tokenDigest: digests[ordinal]!,
      layer,
      ordinal,
      rows: PAGE,
    }
    return lineageKey(lineage, this.#options.digests.sha256)
  }

  #mark(page: number, rows: number): void {
    for (let layer = 0; layer < this.#shape.layers; layer++) this.#kernels.markFilled(page, layer, rows)
  }

  /** Rows that were never computed: a step reads them all the same. */
  #fill(pages: Uint32Array, tokens: number): void {
    const kernels = this.#kernels
    const bytes = new Uint8Array(
      Float32Array.from({ length: kernels.rowBytes(PAGE) / 4 }, (_, i) => Math.sin(i * 0.7)).buffer,
    )
    for (const [ordinal, page] of pages.entries()) {
      const rows = Math.min(PAGE, tokens - ordinal * PAGE)
      for (let layer = 0; layer < this.#shape.layers; layer++) {
        kernels.writeRows(page, layer, rows, bytes.subarray(0, kernels.rowBytes(rows)))
      }
      this.#mark(page, rows)
    }
  }

  #claim(first: number, count: number, owner: number): SequencePlan['table'] {
    const pages = Uint32Array.from({ length: count }, (_, i) => first + i)
    const owners = new Uint32Array(count).fill(owner)
    const generations = new Uint32Array(count).fill(1)
    this.#kernels.claim(pages, owners, generations, Uint32Array.from(pages.keys()))
    return { pages, owners, generations }
  }

  #rows(table: SequencePlan['table'], start: number, count: number, sequence: number, sample: boolean): SequencePlan {
    const { vocab } = this.#shape
    return {
      requestId: `bench-${sequence}`,
      attempt: 1,
      tokens: Int32Array.from({ length: count }, (_, i) => (7919 * (i + 1) + 104_729 * sequence) % vocab),
      start,
      write: 'append',
      table,
      sample: sample ? { params: GREEDY, sequence: 0, index: 0 } : null,
    }
  }
}

const GREEDY = { temperature: 0, topP: 1, topK: 0, seed: 0, topLogprobs: null }
const ONE = Uint32Array.of(1)
const TICKET = new Uint8Array(512)
const RECEIVED = new Uint8Array(16)

export function pageUp(tokens: number): number {
  return Math.ceil(tokens / PAGE) * PAGE
}
