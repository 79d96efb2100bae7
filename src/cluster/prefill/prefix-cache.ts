import type { TicketClaims } from '../../admission/index.ts'
import {
  groupOf,
  type PageGrant,
  type PrefixAdapter,
  PrefixIndex,
  type PrefixNode,
  type PrefixPage,
  type PrefixSalt,
  prefixPages,
} from '../../kv/index.ts'
import type { PublishPageEffect, VerifyPageEffect } from '../effects.ts'
import type { PrefillOptions, PrefixCacheOptions } from '../options.ts'
import type { PoolUse } from '../port.ts'
import type { Holding, WorkerPages } from '../worker/pages.ts'
import type { PrefillJob } from './job.ts'
import { PublishedSeals } from './published-seals.ts'

/** Of the rows in the pool: the kernels know no other. */
const ROW_TYPE = { name: 'f32', bytes: 4 } as const
const NEITHER: { readonly adapter: PrefixAdapter; readonly salt: PrefixSalt } = {
  adapter: { kind: 'none' },
  salt: { kind: 'none' },
}

type EvictionReason = 'pressure' | 'quota' | 'flush' | 'fault'

/**
 * The published pages of prefill's pool: who may read them (R9), what may join them (R11) and under which seal (R8), and which
 * go when room is needed. A published page belongs to its node in the index; requests borrow it and hold it until nothing
 * of theirs can touch it any more.
 */
export class PrefixCache {
  readonly #options: PrefillOptions
  readonly #cache: PrefixCacheOptions
  readonly #pages: WorkerPages
  readonly #seals: PublishedSeals
  readonly #index: PrefixIndex
  /** Gone from the index, but borrowed: given up when that ends. */
  readonly #leaving = new Set<PrefixNode>()

  constructor(
    options: PrefillOptions,
    cache: PrefixCacheOptions,
    pages: WorkerPages,
    emit: (effect: PublishPageEffect | VerifyPageEffect) => void,
  ) {
    this.#options = options
    this.#cache = cache
    this.#pages = pages
    this.#seals = new PublishedSeals(options, pages, emit)
    const { pageSize, layers, kvHeads, headDim } = options.shape
    const pageBytes = pageSize * layers * kvHeads * headDim * 2 * ROW_TYPE.bytes
    const quotas = new Map(
      [...cache.quotaBytes].map(([id, bytes]) => [groupOf({ kind: 'tenant', id }), Math.floor(bytes / pageBytes)]),
    )
    this.#index = new PrefixIndex({
      quota: (group) => quotas.get(group) ?? Number.POSITIVE_INFINITY,
      matches: options.fences.key.matches,
    })
  }

  /** Pages that hold cached prefixes now; O(pages). */
  use(): Required<Pick<PoolUse, 'cached' | 'idle'>> {
    const idle = this.#index.nodes().filter((node) => node.state === 'ready' && node.borrowers === 0).length
    return { cached: this.#index.pages + this.#leaving.size, idle }
  }

  /** The full pages of a prompt with their keys; one SHA-256 each. */
  describe(ids: Int32Array, claims: TicketClaims): readonly PrefixPage[] {
    const { model, weights, shape, fences, crypto } = this.#options
    const { publicPrefixes, selectors } = this.#cache
    const scope = {
      tenant: { kind: 'tenant', id: claims.tenant },
      model,
      weights,
      dtype: ROW_TYPE.name,
      ...(selectors?.(claims) ?? NEITHER),
    } as const
    return prefixPages(ids, shape.pageSize, scope, publicPrefixes, fences.key, crypto.sha256)
  }

  /**
   * The cached beginning of a prompt, held from here on. At least the last row is left to compute, and with it its whole page:
   * pages are shared in full or not at all, so a request never writes into one that others read.
   */
  borrow(pages: readonly PrefixPage[], promptTokens: number): readonly PrefixNode[] {
    const { pageSize } = this.#options.shape
    const path = this.#index.walk(pages.slice(0, Math.floor((promptTokens - 1) / pageSize)))
    for (const node of path) node.borrowers++
    this.#pages.hold(
      path.map((node) => node.view),
      'reader',
    )
    this.#index.use(path)
    return path
  }

  /** Nothing of the request can touch these any more. */
  giveBack(nodes: readonly PrefixNode[]): void {
    for (let i = nodes.length - 1; i >= 0; i--) {
      const node = nodes[i]!
      node.borrowers--
      this.#pages.release([node.view], 'reader')
      this.#letGo(node)
    }
  }

  looked(promptTokens: number, cachedTokens: number): void {
    this.#pages.telemetry({ kind: 'prefix_lookup', model: this.#options.model, promptTokens, cachedTokens })
  }

  /** Asks for the seals of what was borrowed to be checked; how many answers will come. */
  verify(job: PrefillJob): number {
    return job.borrowed.filter((node) => this.#seals.verify(node, job)).length
  }

  verified(id: number): { readonly job: PrefillJob; readonly node: PrefixNode } | null {
    return this.#seals.verified(id)
  }

  /** Frees pages until so many can be reserved, or none is left that nobody uses. */
  makeRoom(wanted: number): void {
    const { free, total } = this.#pages.counts()
    if (wanted > total) return
    let short = wanted - free
    for (; short > 0; short--) {
      const node = this.#index.victim()
      if (node === null) return
      this.#drop(node, 'pressure')
    }
  }

  /** R11: of a request's own pages those that may be published as things stand. Asked at its end, and again if it ends otherwise. */
  candidates(job: PrefillJob): ReadonlySet<PageGrant> {
    const own = job.holding.grants.slice(0, job.prefix.length - job.borrowed.length)
    const { publish } = this.#options.fences
    const { pageSize } = this.#options.shape
    const ending = job.over ? job.ending : 'running'
    return new Set(
      own.filter((grant) =>
        publish({ ending, rows: this.#pages.rows(grant), pageSize, sealed: this.#pages.isSealed(grant) }),
      ),
    )
  }

  /** Once nothing of the request can touch its pages any more: the candidates among them join what is there already. */
  publish(job: PrefillJob): void {
    const path: PrefixNode[] = []
    let published = 0
    for (const page of job.prefix) {
      let node = this.#index.find(page)
      if (node === undefined) {
        // Other tokens under this key, or a page borrowed and gone since: what follows has nothing to hang on.
        const grant = this.#index.taken(page) ? undefined : job.holding.grants[page.ordinal - job.borrowed.length]
        if (grant === undefined || !job.holding.leased.has(grant)) break
        if (!this.#roomInQuota(page.group, path)) break
        const view = this.#pages.transfer(job.holding, grant)
        if (view === null) break
        node = this.#index.insert(page, path.at(-1) ?? null, view)
        this.#seals.publish(node, grant, job.holding)
        published++
      }
      path.push(node)
    }
    this.#index.use(path)
    if (published > 0) this.#pages.telemetry({ kind: 'prefix_published', model: this.#options.model, pages: published })
  }

  published(id: number, seals: readonly Uint8Array[]): PrefixNode | null {
    return this.#seals.published(id, seals)
  }

  nodeAt(page: number): PrefixNode | undefined {
    return this.#index.ownedBy(this.#pages.ownerOf(page))
  }

  /** The page is suspect: it and all that was computed from it leave the index, and it is overwritten before it comes home. */
  condemn(node: PrefixNode, reason: string, blamed: Holding | null): void {
    const [first, ...below] = this.#index.remove(node)
    if (first === undefined) return
    this.#evicted(1 + below.length, 'fault')
    for (const one of below) this.#leave(one)
    this.#pages.quarantinePublished(first.view, reason, blamed)
  }

  flush(): void {
    for (const node of this.#index.nodes()) if (node.parent === null) this.#drop(node, 'flush')
  }

  /** A tenant at its quota makes room out of its own: what it has not used for longest, but not what the page will hang on. */
  #roomInQuota(group: string, path: readonly PrefixNode[]): boolean {
    while (!this.#index.hasRoom(group)) {
      const node = this.#index.victimOf(group, path)
      if (node === null) return false
      this.#drop(node, 'quota')
    }
    return true
  }

  #drop(node: PrefixNode, reason: EvictionReason): void {
    const removed = this.#index.remove(node)
    this.#evicted(removed.length, reason)
    // Backwards, so that the free list (a stack) hands the same pages out in the same order.
    for (const one of [...removed].reverse()) this.#leave(one)
  }

  #leave(node: PrefixNode): void {
    this.#leaving.add(node)
    this.#letGo(node)
  }

  /** Gives up a page that has left the index, once nobody borrows it. */
  #letGo(node: PrefixNode): void {
    if (node.borrowers > 0 || !this.#leaving.delete(node)) return
    this.#pages.release([node.view], 'lease')
  }

  #evicted(pages: number, reason: EvictionReason): void {
    if (pages > 0) this.#pages.telemetry({ kind: 'prefix_evicted', model: this.#options.model, pages, reason })
  }
}
