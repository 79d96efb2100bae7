import type { PageGrant } from '../../kv/index.ts'
import type { WorkerPages } from '../worker/pages.ts'
import type { DecodeRequest } from './request.ts'

interface Writer {
  readonly grants: readonly PageGrant[]
  /** Pages that wait in quarantine for its word; 0 while the lease is open. */
  fenced: number
}

/**
 * Who may store into decode's pages from outside (transport `shared`). A store is one-sided: nothing here can refuse it, so
 * the pages under a lease are held [writer] from before anybody hears of it until the writer has said its last word under it
 * (the manifest, or its answer to `lease_closed`) or is known ended. No time-out is a proof (R6).
 */
export class Writers {
  readonly #pages: WorkerPages
  /** By lease id, in the order of ids. */
  readonly #writing = new Map<number, Writer>()

  constructor(pages: WorkerPages) {
    this.#pages = pages
  }

  begin(request: DecodeRequest): void {
    const grants = request.holding.grants.slice(0, request.layout.promptPages)
    this.#pages.hold(grants, 'writer')
    this.#writing.set(request.lease.id, { grants, fenced: 0 })
  }

  /** The lease is closed. Pages whose writer has not said its last word are kept from everybody until it has. */
  closed(request: DecodeRequest): void {
    const writer = this.#writing.get(request.lease.id)
    if (writer === undefined) return
    writer.fenced = this.#pages.fence(writer.grants)
    if (writer.fenced > 0)
      this.#pages.telemetry({ kind: 'lease_fenced', lease: request.lease.id, pages: writer.fenced })
  }

  /** The writer's word that it touches no page under this lease any more. */
  letGo(lease: number, by: 'acknowledged' | 'writer_ended' = 'acknowledged'): void {
    const writer = this.#writing.get(lease)
    if (writer === undefined) return
    this.#writing.delete(lease)
    if (writer.fenced > 0) this.#pages.telemetry({ kind: 'lease_released', lease, pages: writer.fenced, by })
    this.#pages.release(writer.grants, 'writer')
  }

  /** Its thread is known ended; whoever comes next is told to store under none of these leases. */
  ended(): void {
    for (const lease of [...this.#writing.keys()]) this.letGo(lease, 'writer_ended')
  }

  /** The first lease under which somebody may still store; `next` (the one to be given next) if there is none. */
  floor(next: number): number {
    for (const lease of this.#writing.keys()) return lease
    return next
  }
}
