import type { PageTag } from '../../cluster/index.ts'
import type { PoolShape } from '../../kv/index.ts'
import { mix, putWord } from './hash.ts'
import type { Oracle } from './oracle.ts'

/** Rows of one layer of a page on the wire: values, and who wrote them (which only checkers look at). */
export interface RowBytes {
  readonly values: Uint32Array
  readonly writers: Uint32Array
}

/**
 * A pool's memory, one 32-bit word a row: tags, filled rows and rows, with the kernels' semantics. Beside each row stands,
 * for checkers alone, who wrote it and under which claim of its page.
 */
export class SimMemory {
  readonly shape: PoolShape
  readonly owner: Uint32Array
  readonly generation: Uint32Array
  readonly rows: Uint32Array
  readonly writers: Uint32Array
  readonly claims: Uint32Array
  /** How often each page was claimed; a row is fresh if it was written under the present claim. */
  readonly claimed: Uint32Array
  /** Pages whose guard row was written over since they were last claimed. */
  readonly spoiled: Uint8Array
  readonly #filled: Uint16Array

  constructor(shape: PoolShape) {
    this.shape = shape
    this.owner = new Uint32Array(shape.pages)
    this.generation = new Uint32Array(shape.pages)
    this.claimed = new Uint32Array(shape.pages)
    this.spoiled = new Uint8Array(shape.pages)
    this.#filled = new Uint16Array(shape.pages * shape.layers)
    const rows = shape.pages * shape.layers * shape.pageSize
    this.rows = new Uint32Array(rows)
    this.writers = new Uint32Array(rows)
    this.claims = new Uint32Array(rows)
  }

  at(page: number, layer: number): number {
    return (page * this.shape.layers + layer) * this.shape.pageSize
  }

  claim(pages: Uint32Array, owners: Uint32Array, generations: Uint32Array): void {
    for (let i = 0; i < pages.length; i++) {
      const page = pages[i]!
      this.owner[page] = owners[i]!
      this.generation[page] = generations[i]!
      this.claimed[page]!++
      this.spoiled[page] = 0
      for (let layer = 0; layer < this.shape.layers; layer++) this.markFilled(page, layer, 0)
    }
  }

  hasTag(page: number, { owner, generation }: PageTag): boolean {
    return this.owner[page] === owner && this.generation[page] === generation
  }

  /** A page changes hands with its rows; its guard rows are written anew. */
  retag(page: number, { owner, generation }: PageTag): void {
    this.owner[page] = owner
    this.generation[page] = generation
    this.spoiled[page] = 0
  }

  /** One bit of one row of a page that nobody may write any more. */
  rot(page: number, oracle: Oracle): void {
    const rows = this.shape.layers * this.shape.pageSize
    this.rows[this.at(page, 0) + oracle.choose('which row rots', rows)]! ^= 1 << oracle.choose('which bit', 32)
  }

  /** Rows stay as they are: what nobody may read is there to be read if a fence fails. */
  retire(pages: Uint32Array): void {
    for (const page of pages) {
      this.owner[page] = 0
      for (let layer = 0; layer < this.shape.layers; layer++) this.markFilled(page, layer, 0)
    }
  }

  filled(page: number, layer: number): number {
    return this.#filled[page * this.shape.layers + layer]!
  }

  markFilled(page: number, layer: number, rows: number): void {
    this.#filled[page * this.shape.layers + layer] = rows
  }

  write(page: number, layer: number, row: number, value: number, writer: number): void {
    const at = this.at(page, layer) + row
    this.rows[at] = value
    this.writers[at] = writer
    this.claims[at] = this.claimed[page]!
  }

  read(page: number, layer: number, rows: number): RowBytes {
    const at = this.at(page, layer)
    return { values: this.rows.slice(at, at + rows), writers: this.writers.slice(at, at + rows) }
  }

  place(page: number, layer: number, rows: number, bytes: RowBytes): void {
    for (let row = 0; row < rows; row++) this.write(page, layer, row, bytes.values[row] ?? 0, bytes.writers[row] ?? 0)
  }

  copy(from: number, to: number, rows: number): void {
    for (let layer = 0; layer < this.shape.layers; layer++) {
      this.place(to, layer, rows, this.read(from, layer, rows))
      this.markFilled(to, layer, rows)
    }
  }

  seal(page: number, layer: number, rows: number, key: Uint8Array): Uint8Array {
    const at = this.at(page, layer)
    return sealOf(this.rows.subarray(at, at + rows), key)
  }
}

const sealOf = (values: Uint32Array, key: Uint8Array): Uint8Array => {
  let hash = values.length
  for (const byte of key) hash = mix(hash, byte)
  for (const value of values) hash = mix(hash, value)
  const seal = new Uint8Array(16)
  for (let i = 0; i < 16; i += 4) {
    hash = mix(hash, i)
    putWord(seal, i, hash)
  }
  return seal
}

export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i])
