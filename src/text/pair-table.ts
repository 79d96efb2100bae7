/** Open-addressing map from pairs of symbols to a number; three flat arrays, since vocabularies have 10^5 merges. */
export class PairTable {
  readonly #left: Int32Array
  readonly #right: Int32Array
  readonly #value: Int32Array
  readonly #mask: number

  constructor(capacity: number) {
    let size = 16
    while (size < capacity * 2) size *= 2
    this.#left = new Int32Array(size).fill(-1)
    this.#right = new Int32Array(size)
    this.#value = new Int32Array(size)
    this.#mask = size - 1
  }

  /** Keeps the first value given for a pair, as llama.cpp keeps the first of duplicate merges. */
  add(left: number, right: number, value: number): void {
    const slot = this.#slot(left, right)
    if (this.#left[slot] !== -1) return
    this.#left[slot] = left
    this.#right[slot] = right
    this.#value[slot] = value
  }

  /** The pair's value, or -1. */
  get(left: number, right: number): number {
    const slot = this.#slot(left, right)
    return this.#left[slot] === -1 ? -1 : this.#value[slot]!
  }

  #slot(left: number, right: number): number {
    let hash = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    let slot = (hash ^ (hash >>> 13)) & this.#mask
    while (this.#left[slot] !== -1 && (this.#left[slot] !== left || this.#right[slot] !== right)) {
      slot = (slot + 1) & this.#mask
    }
    return slot
  }
}
