/**
 * First in, first out, each in constant time. An array's own `shift` moves all that follow, and a long prompt out of the cache puts
 * its pages in line by the hundred thousand: seconds, in which the thread hears nothing.
 */
export class Fifo<Item extends object> {
  #items: Item[] = []
  #next = 0

  push(item: Item): void {
    this.#items.push(item)
  }

  shift(): Item | undefined {
    const item = this.#items[this.#next]
    if (item === undefined) return undefined
    this.#next++
    // What was taken goes once it is half of all: each item is moved once at most, on average.
    if (2 * this.#next >= this.#items.length) {
      this.#items = this.#items.slice(this.#next)
      this.#next = 0
    }
    return item
  }

  clear(): void {
    this.#items = []
    this.#next = 0
  }
}
