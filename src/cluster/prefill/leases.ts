import type { Lease, LeaseClosed } from '../messages.ts'

/**
 * Under which of decode's leases prefill may store (transport `shared`). Once it has said that it is done with a lease, no
 * message may bring it to store under it again, however late or often it arrives: decode gives the pages to others.
 */
export class Leases {
  /** Acknowledged, and not below the floor yet. */
  readonly #spent = new Set<number>()
  #floor = 0

  /** The first lease that this life may store under. */
  openFrom(floor: number): void {
    this.#floor = floor
    for (const id of this.#spent) if (id < floor) this.#spent.delete(id)
  }

  /** How many acknowledged leases it keeps in mind; bounded by those between the floor and the newest. */
  get remembered(): number {
    return this.#spent.size
  }

  mayStore(lease: Lease, pages: number): boolean {
    return lease.target?.pages.length === pages && lease.id >= this.#floor && !this.#spent.has(lease.id)
  }

  /** From here on nothing is begun under this lease. Decode needs no reminder of those below its floor, nor does this book. */
  spend({ lease, floor = 0 }: LeaseClosed): void {
    if (lease.id >= this.#floor) this.#spent.add(lease.id)
    if (floor > this.#floor) this.openFrom(floor)
  }
}
