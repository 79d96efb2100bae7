/**
 * The router's copy of one worker's free pages in one life of that worker: a contract's pages are taken off when it is
 * dispatched and put back when the worker says they are home. Guesses low, never high, so no reservation is sent in vain.
 */
export class PoolMirror {
  readonly epoch: number
  readonly total: number
  /** What the worker last said of its end of the transfer channel. */
  channelUp = true
  #free: number
  readonly #taken = new Map<string, number>()

  constructor(epoch: number, total: number) {
    this.epoch = epoch
    this.total = total
    this.#free = total
  }

  get free(): number {
    return this.#free
  }

  take(key: string, pages: number): void {
    this.#taken.set(key, pages)
    this.#free -= pages
  }

  /** Home again. A second word about the same pages changes nothing. */
  giveBack(key: string): void {
    this.#free += this.#taken.get(key) ?? 0
    this.#taken.delete(key)
  }

  has(key: string): boolean {
    return this.#taken.has(key)
  }
}
