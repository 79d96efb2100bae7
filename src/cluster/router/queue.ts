/** What the queue needs to know of whoever waits in it. */
export interface Waiting {
  readonly tenant: string
  /** When its wait began; it ends by time-out counted from here. */
  readonly waitingSince: number
}

/**
 * First come, first served within a tenant; tenants take turns. The head of the turn is served or nobody is: a large
 * request waits for room, but it is never overtaken for ever by small ones.
 */
export class FairQueue<T extends Waiting> {
  /** In order of turn. */
  readonly #lines = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  push(one: T): void {
    const line = this.#lines.get(one.tenant)
    if (line === undefined) this.#lines.set(one.tenant, [one])
    else line.push(one)
    this.#size++
  }

  /** For one that has had its turn in vain: first of its tenant again. */
  pushFront(one: T): void {
    const line = this.#lines.get(one.tenant)
    if (line === undefined) this.#lines.set(one.tenant, [one])
    else line.unshift(one)
    this.#size++
  }

  peek(): T | undefined {
    for (const line of this.#lines.values()) return line[0]
    return undefined
  }

  /** Takes the head; its tenant goes to the end of the turn. */
  shift(): T | undefined {
    const one = this.peek()
    if (one === undefined) return undefined
    const line = this.#lines.get(one.tenant)!
    line.shift()
    this.#size--
    this.#lines.delete(one.tenant)
    if (line.length > 0) this.#lines.set(one.tenant, line)
    return one
  }

  remove(one: T): boolean {
    const line = this.#lines.get(one.tenant)
    const at = line?.indexOf(one) ?? -1
    if (line === undefined || at < 0) return false
    line.splice(at, 1)
    this.#size--
    if (line.length === 0) this.#lines.delete(one.tenant)
    return true
  }

  /** Everyone who has waited for `limit` or longer. */
  overdue(limit: number, now: number): readonly T[] {
    // Added and not subtracted, as where the timer is set: rounding must not make a timer go off too early for its own test.
    return [...this.#lines.values()].flat().filter((one) => one.waitingSince + limit <= now)
  }

  /** The earliest beginning of a wait; null if nobody waits. */
  oldest(): number | null {
    let oldest: number | null = null
    for (const line of this.#lines.values())
      for (const one of line) if (oldest === null || one.waitingSince < oldest) oldest = one.waitingSince
    return oldest
  }
}
