import type { Lease, LeaseClosed } from '../messages.ts'

/**
 * Under which of decode's leases prefill may store (transport `shared`). Once it has said that it is done with a lease, no
 * message may bring it to store under it again, however late or often it arrives: decode gives the pages to others.
 */
export class Leases {
  /** The life of decode whose leases these are; null until that is told. */
  #epoch: number | null = null
  /** Acknowledged, and not below the floor yet. */
  readonly #spent = new Set<number>()
  #floor = 0

  /** The first lease that this life may store under. */
  openFrom({ id, epoch }: Lease): void {
    this.#epoch = epoch
    this.#raise(id)
  }

  /** How many acknowledged leases it keeps in mind; bounded by those between the floor and the newest. */
  get remembered(): number {
    return this.#spent.size
  }

  mayStore({ id, epoch, target }: Lease, pages: number): boolean {
    return epoch === this.#epoch && id >= this.#floor && !this.#spent.has(id) && target?.pages.length === pages
  }

  /** From here on nothing is begun under this lease. Decode needs no reminder of those below its floor, nor does this book. */
  spend({ lease, floor = 0 }: LeaseClosed): void {
    if (lease.epoch !== this.#epoch) return
    if (lease.id >= this.#floor) this.#spent.add(lease.id)
    if (floor > this.#floor) this.#raise(floor)
  }

  #raise(floor: number): void {
    this.#floor = floor
    for (const id of this.#spent) if (id < floor) this.#spent.delete(id)
  }
}
