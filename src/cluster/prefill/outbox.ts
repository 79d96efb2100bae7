import type { LedgerFault, PageHandle } from '../../kv/index.ts'
import type { PageTag, SendAcknowledgeEffect, SendManifestEffect, SendPageEffect } from '../effects.ts'
import { identityKey, leaseName } from '../identity.ts'
import type { Lease } from '../messages.ts'
import type { PrefillOptions } from '../options.ts'
import type { WorkerPages } from '../worker/pages.ts'
import { type PrefillJob, promptRowsOf } from './job.ts'

type OutboxEffect = SendPageEffect | SendManifestEffect | SendAcknowledgeEffect

/** Hands finished pages to the channel, layer by layer, and keeps each from being reused until its bytes are out. */
export class Outbox {
  readonly #options: PrefillOptions
  readonly #pages: WorkerPages
  readonly #emit: (effect: OutboxEffect) => void
  readonly #sends = new Map<number, { readonly job: PrefillJob; readonly handle: PageHandle }>()
  #nextId = 1

  constructor(options: PrefillOptions, pages: WorkerPages, emit: (effect: OutboxEffect) => void) {
    this.#options = options
    this.#pages = pages
    this.#emit = emit
  }

  /** Rows 0 … `rows` - 1 of the job stand in this layer: notes it, and sends each page that is complete there. */
  advance(job: PrefillJob, layer: number, rows: number): LedgerFault | null {
    const { pageSize } = this.#options.shape
    for (let ordinal = job.sentPages[layer]!; ordinal * pageSize < rows; ordinal++) {
      const handle = job.handles[ordinal]!
      const standing = this.#pages.filled(handle, layer)
      const upTo = Math.min(pageSize, rows - ordinal * pageSize)
      // A borrowed page stands already, and takes no rows.
      const fills = handle.access === 'write' && upTo > standing
      const fault = fills ? this.#pages.fill(handle, layer, standing, upTo - standing) : null
      if (fault !== null) return fault
      if (upTo < promptRowsOf(job.ids.length, ordinal, pageSize)) return null
      this.#sendPage(job, handle, layer, ordinal, upTo)
    }
    return null
  }

  manifest(job: PrefillJob): void {
    this.#emit({
      kind: 'send_manifest',
      frame: {
        kind: 'manifest',
        requestId: job.requestId,
        attempt: job.attempt,
        lease: leaseName(job.lease),
        pages: job.handles.length,
        rows: job.computed,
        layers: this.#options.shape.layers,
        tokenDigest: job.claims.tokenDigest,
      },
    })
  }

  /** Transport `shared`: effects are executed in order, so by then every store under this lease is over. */
  acknowledge(lease: Lease): void {
    this.#emit({ kind: 'send_acknowledge', lease: leaseName(lease) })
  }

  /** The bytes are out of the pool, or will never be. Returns whose page it was; undefined if the link went before. */
  sent(id: number): { readonly job: PrefillJob; readonly page: number } | undefined {
    const send = this.#sends.get(id)
    if (send === undefined) return undefined
    this.#sends.delete(id)
    send.job.busy--
    this.#pages.release([send.handle], 'reader')
    return { job: send.job, page: send.handle.page }
  }

  /** The socket is gone, so no send reads the pool any more: that is the proof that frees its pages (R6). */
  linkDown(): void {
    for (const id of [...this.#sends.keys()]) this.sent(id)
  }

  #sendPage(job: PrefillJob, handle: PageHandle, layer: number, ordinal: number, rows: number): void {
    const { fences, crypto } = this.#options
    const id = this.#nextId++
    job.sentPages[layer] = ordinal + 1
    job.busy++
    this.#sends.set(id, { job, handle })
    this.#pages.hold([handle], 'reader')
    const { target } = job.lease
    const tagged = (owner: number, generation: number): PageTag | null =>
      fences.kernel.tags ? { owner, generation } : null
    const lineage = { namespace: identityKey(job), tokenDigest: job.digests[ordinal]!, layer, ordinal, rows }
    this.#emit({
      kind: 'send_page',
      id,
      page: handle.page,
      tag: tagged(handle.owner, handle.generation),
      frame: {
        kind: 'page',
        requestId: job.requestId,
        attempt: job.attempt,
        lease: leaseName(job.lease),
        layer,
        ordinal,
        rows,
      },
      lineageKey: fences.seals.key(lineage, crypto.sha256),
      target:
        target === undefined
          ? null
          : { page: target.pages[ordinal]!, tag: tagged(target.owners[ordinal]!, target.generations[ordinal]!) },
    })
  }
}
