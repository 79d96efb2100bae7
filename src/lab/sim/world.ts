interface Due {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** Virtual time and everything that is to happen in it, in order of time and, within an instant, of scheduling. */
export class World {
  #now = 0
  #order = 0
  readonly #heap: Due[] = []

  /** Milliseconds since the seed began. */
  get now(): number {
    return this.#now
  }

  after(delay: number, run: () => void): void {
    this.at(this.#now + delay, run)
  }

  at(time: number, run: () => void): void {
    const due = { at: Math.max(time, this.#now), order: this.#order++, run }
    const heap = this.#heap
    let i = heap.length
    heap.push(due)
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!before(due, heap[parent]!)) break
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = due
  }

  /** Runs the next due thing; false when nothing is left. */
  tick(): boolean {
    const heap = this.#heap
    const first = heap[0]
    if (first === undefined) return false
    const last = heap.pop()!
    if (heap.length > 0) this.#sink(last)
    this.#now = first.at
    first.run()
    return true
  }

  #sink(due: Due): void {
    const heap = this.#heap
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, due)) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = due
  }
}

const before = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

/** A one-way channel that keeps order. What is under way when it is cut is lost. */
export class Link {
  readonly #world: World
  #last = 0
  #life = 0

  constructor(world: World) {
    this.#world = world
  }

  /** `overtaking`: may arrive before what was sent earlier (a fault, not a property of sockets). */
  send(delay: number, deliver: () => void, overtaking = false): void {
    const life = this.#life
    const at = overtaking ? this.#world.now + delay : Math.max(this.#last, this.#world.now + delay)
    if (!overtaking) this.#last = at
    this.#world.at(at, () => {
      if (life === this.#life) deliver()
    })
  }

  cut(): void {
    this.#life++
  }
}
