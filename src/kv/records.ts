import type { PoolCounts } from './audit.ts'
import type { HolderCounts } from './fences.ts'
import { DRAINING, FILLING, FREE, type HolderKind, QUARANTINED, RESERVED, SEALED } from './states.ts'
import type { OwnerId } from './types.ts'

/** Told of every move from one state to another, as numbers (`pageStates[from]`). */
export type PageWatch = (from: number, to: number) => void

/** The page records as a struct of typed arrays, and the counters that every move keeps up to date. Checks nothing. */
export class PageRecords {
  readonly total: number
  readonly layers: number
  readonly state: Uint8Array
  readonly owner: Uint32Array
  readonly generation: Uint32Array
  readonly holders: Readonly<Record<HolderKind, Uint32Array>>
  readonly #filled: Uint16Array
  #claims = 0
  /** Rows standing in every layer: asked at every step, so kept instead of counted. */
  readonly #least: Uint16Array
  readonly #byState = new Uint32Array(6)
  readonly #watch: PageWatch | undefined

  constructor(pages: number, layers: number, watch?: PageWatch) {
    this.#watch = watch
    this.total = pages
    this.layers = layers
    this.state = new Uint8Array(pages)
    this.owner = new Uint32Array(pages)
    this.generation = new Uint32Array(pages)
    this.holders = {
      lease: new Uint32Array(pages),
      step: new Uint32Array(pages),
      writer: new Uint32Array(pages),
      reader: new Uint32Array(pages),
      copy: new Uint32Array(pages),
    }
    this.#filled = new Uint16Array(pages * layers)
    this.#least = new Uint16Array(pages)
    this.#byState[FREE] = pages
  }

  /** Returns the page's new generation: no claim of any page had it before, so a tag also tells one's own pages apart. */
  claim(page: number, owner: OwnerId): number {
    this.move(page, RESERVED)
    this.owner[page] = owner
    this.generation[page] = ++this.#claims
    this.#clear(page)
    this.holders.lease[page] = 1
    return this.generation[page]!
  }

  /** A page changes hands with its content; returns its new generation. */
  rename(page: number, owner: OwnerId): number {
    this.owner[page] = owner
    this.generation[page] = ++this.#claims
    return this.generation[page]!
  }

  free(page: number): void {
    this.move(page, FREE)
    this.owner[page] = 0
    this.#clear(page)
  }

  move(page: number, to: number): void {
    this.#byState[this.state[page]!]!--
    this.#byState[to]!++
    this.#watch?.(this.state[page]!, to)
    this.state[page] = to
  }

  filled(page: number, layer: number): number {
    return this.#filled[page * this.layers + layer]!
  }

  setFilled(page: number, layer: number, rows: number): void {
    const at = page * this.layers
    const wasLeast = this.#filled[at + layer] === this.#least[page]
    this.#filled[at + layer] = rows
    if (wasLeast) this.#least[page] = this.#leastFrom(at)
  }

  setFilledAll(page: number, rows: number): void {
    this.#filled.fill(rows, page * this.layers, (page + 1) * this.layers)
    this.#least[page] = rows
  }

  leastFilled(page: number): number {
    return this.#least[page]!
  }

  holdersOf(page: number): HolderCounts {
    const { lease, step, writer, reader, copy } = this.holders
    return { lease: lease[page]!, step: step[page]!, writer: writer[page]!, reader: reader[page]!, copy: copy[page]! }
  }

  holderCount(page: number): number {
    const { lease, step, writer, reader, copy } = this.holders
    return lease[page]! + step[page]! + writer[page]! + reader[page]! + copy[page]!
  }

  /** `free` is the free list's length, so that list and states are compared and neither vouches for itself. */
  counts(free: number): PoolCounts {
    const byState = this.#byState
    const draining = byState[DRAINING]!
    const owned = byState[RESERVED]! + byState[FILLING]! + byState[SEALED]! + draining
    return { total: this.total, free, owned, draining, quarantined: byState[QUARANTINED]! }
  }

  heldPages(): number[] {
    const held: number[] = []
    for (let page = 0; page < this.total; page++)
      if (this.state[page] !== FREE && this.state[page] !== QUARANTINED) held.push(page)
    return held
  }

  #clear(page: number): void {
    this.setFilledAll(page, 0)
    const { lease, step, writer, reader, copy } = this.holders
    lease[page] = step[page] = writer[page] = reader[page] = copy[page] = 0
  }

  #leastFrom(at: number): number {
    let least = this.#filled[at]!
    for (let i = at + 1; i < at + this.layers; i++) least = Math.min(least, this.#filled[i]!)
    return least
  }
}
