import type { Encoded } from './types.ts'

/** Collects ids and says when the limit is passed. Grows by doubling; nothing is boxed. */
export class IdSink {
  #ids = new Int32Array(256)
  #length = 0
  #cut = false
  readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  get length(): number {
    return this.#length
  }

  /** True once somebody stopped with text left to encode. */
  get cut(): boolean {
    return this.#cut
  }

  /** Asked by an encoder that has text left: true once more ids were pushed than the limit allows, and it must stop. */
  stops(): boolean {
    this.#cut ||= this.#length > this.limit
    return this.#cut
  }

  push(id: number): void {
    if (this.#length === this.#ids.length) {
      const grown = new Int32Array(this.#ids.length * 2)
      grown.set(this.#ids)
      this.#ids = grown
    }
    this.#ids[this.#length++] = id
  }

  encoded(): Encoded {
    return { ids: this.#ids.slice(0, this.#length), complete: !this.#cut }
  }
}
