/** Pending merges in order of (priority, position). Positions of one priority mostly arrive ascending, and that is made cheap. */
export interface MergeQueue {
  push(priority: number, position: number): void
  /** Takes the first entry; false when empty. The entry is then in `priority` and `position`. */
  pop(): boolean
  readonly priority: number
  readonly position: number
}

/** Binary min-heap of integers. */
class IntHeap {
  readonly #items: number[] = []

  get size(): number {
    return this.#items.length
  }

  get first(): number {
    return this.#items[0]!
  }

  push(value: number): void {
    const items = this.#items
    let at = items.length
    items.push(value)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (items[parent]! <= value) break
      items[at] = items[parent]!
      at = parent
    }
    items[at] = value
  }

  pop(): void {
    const items = this.#items
    const value = items.pop()!
    const size = items.length
    if (size === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && items[child + 1]! < items[child]!) child++
      if (items[child]! >= value) break
      items[at] = items[child]!
      at = child
    }
    items[at] = value
  }
}

/** Entries of one priority: an ascending run read by a cursor, and a heap for those that came out of order. */
interface Bucket {
  run: number[]
  cursor: number
  readonly late: IntHeap
}

/**
 * Bucket queue under a heap of the priorities in use. A long run of one character gives ascending positions in few
 * priorities, so its merges cost constant time each; arbitrary orders cost a logarithm.
 */
export class BucketQueue implements MergeQueue {
  readonly #buckets = new Map<number, Bucket>()
  readonly #active = new IntHeap()
  priority = 0
  position = 0

  push(priority: number, position: number): void {
    let bucket = this.#buckets.get(priority)
    if (bucket === undefined) {
      bucket = { run: [], cursor: 0, late: new IntHeap() }
      this.#buckets.set(priority, bucket)
    }
    const { run, late } = bucket
    if (bucket.cursor === run.length && late.size === 0) {
      bucket.run = [position]
      bucket.cursor = 0
      this.#active.push(priority)
    } else if (bucket.cursor === run.length || run[run.length - 1]! <= position) run.push(position)
    else late.push(position)
  }

  pop(): boolean {
    const active = this.#active
    if (active.size === 0) return false
    const bucket = this.#buckets.get(active.first)!
    const { run, late } = bucket
    this.priority = active.first
    if (bucket.cursor < run.length && (late.size === 0 || run[bucket.cursor]! <= late.first)) {
      this.position = run[bucket.cursor++]!
    } else {
      this.position = late.first
      late.pop()
    }
    if (bucket.cursor === run.length && late.size === 0) {
      active.pop()
      // an emptied bucket holds no memory; it may come back
      this.#buckets.delete(this.priority)
    }
    return true
  }
}
