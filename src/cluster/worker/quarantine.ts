import type { PageHandle, PageLedger } from '../../kv/index.ts'
import type { ScrubEffect } from '../effects.ts'

/**
 * Pages in quarantine that nobody holds any more: each is overwritten, and that is the proof that lets it come home. Those that
 * were found wrong are told apart from those that only waited for a writer's word.
 */
export class Quarantine {
  readonly #ledger: PageLedger
  readonly #suspect = new Set<PageHandle>()
  readonly #scrubbing = new Map<number, readonly PageHandle[]>()
  #idle: PageHandle[] = []
  #nextId = 1

  constructor(ledger: PageLedger) {
    this.#ledger = ledger
  }

  /** Something was found wrong with it: its return is told. */
  suspect(handle: PageHandle): void {
    this.#suspect.add(handle)
  }

  /** Its last holder has let go. */
  idle(handle: PageHandle): void {
    this.#idle.push(handle)
  }

  /** Asks for what lies idle to be overwritten; null if nothing does. */
  scrub(): ScrubEffect | null {
    if (this.#idle.length === 0) return null
    const id = this.#nextId++
    this.#scrubbing.set(id, this.#idle)
    const pages = Uint32Array.from(this.#idle, (handle) => handle.page)
    this.#idle = []
    return { kind: 'scrub', id, pages }
  }

  /** Those pages were overwritten: what became of each. A second word about the same pages says nothing. */
  scrubbed(id: number) {
    const handles = this.#scrubbing.get(id) ?? []
    this.#scrubbing.delete(id)
    return handles.map((handle) => ({
      handle,
      departed: this.#ledger.acquit(handle),
      wasSuspect: this.#suspect.delete(handle),
    }))
  }
}
