import { type PageGrant, type PrefixNode, PUBLISHED_NAMESPACE } from '../../kv/index.ts'
import type { PublishPageEffect, VerifyPageEffect } from '../effects.ts'
import type { PrefillOptions } from '../options.ts'
import type { Holding, WorkerPages } from '../worker/pages.ts'
import type { PrefillJob } from './job.ts'

/**
 * R8 for pages at rest: each is sealed under its R9 key when it is published, and the seal is verified before a request counts
 * its rows as standing. Keys are derived once, when the page is published, and kept.
 */
export class PublishedSeals {
  readonly #options: PrefillOptions
  readonly #pages: WorkerPages
  readonly #emit: (effect: PublishPageEffect | VerifyPageEffect) => void
  readonly #publishing = new Map<
    number,
    { readonly node: PrefixNode; readonly holding: Holding; readonly keys: Uint8Array[] | null }
  >()
  readonly #verifying = new Map<number, { readonly node: PrefixNode; readonly job: PrefillJob }>()
  #nextId = 1

  constructor(
    options: PrefillOptions,
    pages: WorkerPages,
    emit: (effect: PublishPageEffect | VerifyPageEffect) => void,
  ) {
    this.#options = options
    this.#pages = pages
    this.#emit = emit
  }

  /**
   * Memory follows a page into the index. Nobody finds the node before its seals are there, and its maker's pages do not count
   * as home: until then it cannot be evicted, so it stands on somebody's account.
   */
  publish(node: PrefixNode, from: PageGrant, holding: Holding): void {
    const id = this.#nextId++
    const keys = this.#keysOf(node)
    this.#publishing.set(id, { node, holding, keys })
    this.#pages.hold([node.view], 'reader')
    const { page, owner, generation } = node.view
    const { ordinal } = node.page
    const rows = this.#options.shape.pageSize
    this.#emit({
      kind: 'publish_page',
      id,
      page,
      ordinal,
      from: { owner: from.owner, generation: from.generation },
      to: { owner, generation },
      rows,
      lineageKeys: keys,
    })
  }

  /** The node is ready, unless it left the index meanwhile. */
  published(id: number, seals: readonly Uint8Array[]): PrefixNode | null {
    const publishing = this.#publishing.get(id)
    if (publishing === undefined) return null
    const { node, holding, keys } = publishing
    this.#publishing.delete(id)
    this.#pages.release([node.view], 'reader')
    if (keys !== null) node.seals = { keys, values: seals }
    if (node.state === 'sealing') node.state = 'ready'
    this.#pages.settleOne(holding)
    return node
  }

  /** Asks whether the page is still what was sealed; false where there is no seal to ask for. The borrower holds the page. */
  verify(node: PrefixNode, job: PrefillJob): boolean {
    if (node.seals === null) return false
    const id = this.#nextId++
    this.#verifying.set(id, { node, job })
    const { keys: lineageKeys, values: seals } = node.seals
    const { page } = node.view
    this.#emit({ kind: 'verify_page', id, page, rows: this.#options.shape.pageSize, lineageKeys, seals })
    return true
  }

  verified(id: number): { readonly node: PrefixNode; readonly job: PrefillJob } | null {
    const verifying = this.#verifying.get(id)
    this.#verifying.delete(id)
    return verifying ?? null
  }

  #keysOf({ page: { key, ordinal } }: PrefixNode): Uint8Array[] | null {
    const { fences, shape, crypto } = this.#options
    const keys: Uint8Array[] = []
    for (let layer = 0; layer < shape.layers; layer++) {
      const lineage = { namespace: PUBLISHED_NAMESPACE, tokenDigest: key, layer, ordinal, rows: shape.pageSize }
      const derived = fences.seals.key(lineage, crypto.sha256)
      if (derived === null) return null
      keys.push(derived)
    }
    return keys
  }
}
