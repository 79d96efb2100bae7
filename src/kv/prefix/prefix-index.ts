import type { PageView } from '../handles.ts'
import type { PrefixPage } from './pages.ts'
import { PUBLIC_GROUP } from './scope.ts'

/** `sealing`: in its place, but nobody finds it yet. `gone`: left the index; whoever still reads it finishes, nobody new begins. */
export type PrefixNodeState = 'sealing' | 'ready' | 'gone'

export interface PageSeals {
  /** One of each for every layer. */
  readonly keys: readonly Uint8Array[]
  readonly values: readonly Uint8Array[]
}

/** One published page. It owns its page: the view's owner is nobody's but this node's. */
export interface PrefixNode {
  readonly page: PrefixPage
  readonly view: PageView
  readonly parent: PrefixNode | null
  readonly children: Set<PrefixNode>
  state: PrefixNodeState
  /** Of each layer under the R9 key (R8); null until it is sealed, or where pages go unsealed. */
  seals: PageSeals | null
  /** Requests that read it now. */
  borrowers: number
}

export interface PrefixIndexOptions {
  /** Most pages that may stand in a group's name. */
  readonly quota: (group: string) => number
  readonly matches: (wanted: Int32Array, held: Int32Array) => boolean
}

/**
 * Radix tree over published pages, one page an edge. A key chains all pages before it, so the tree is walked by key alone, and
 * the tokens are compared at every step (R9). Knows no ledger: it says what goes next, and what leaves with it.
 *
 * Each group keeps its nodes in order of use. Whoever uses a page uses all before it, and a path is touched from its end to its
 * beginning: so a node is always older than the one it hangs on, and the oldest that nobody reads is a leaf.
 */
export class PrefixIndex {
  readonly #options: PrefixIndexOptions
  readonly #byKey = new Map<string, PrefixNode>()
  readonly #byOwner = new Map<number, PrefixNode>()
  /** Per group, oldest use first. */
  readonly #groups = new Map<string, Set<PrefixNode>>()

  constructor(options: PrefixIndexOptions) {
    this.#options = options
  }

  get pages(): number {
    return this.#byKey.size
  }

  pagesOf(group: string): number {
    return this.#groups.get(group)?.size ?? 0
  }

  nodes(): readonly PrefixNode[] {
    return [...this.#byKey.values()]
  }

  /** The longest run of ready pages, from the first of a prompt on, whose keys and tokens are these. */
  walk(pages: readonly PrefixPage[]): readonly PrefixNode[] {
    const found: PrefixNode[] = []
    for (const page of pages) {
      const node = this.find(page)
      if (node?.state !== 'ready') break
      found.push(node)
    }
    return found
  }

  /** Ready or still being sealed; undefined where the key is not here, or other tokens stand under it. */
  find(page: PrefixPage): PrefixNode | undefined {
    const node = this.#byKey.get(nameOf(page.key))
    return node !== undefined && this.#options.matches(page.tokens, node.page.tokens) ? node : undefined
  }

  ownedBy(owner: number): PrefixNode | undefined {
    return this.#byOwner.get(owner)
  }

  /** Is this key's place taken, by whatever tokens? */
  taken(page: PrefixPage): boolean {
    return this.#byKey.has(nameOf(page.key))
  }

  /** Would one page more keep the group within its quota? */
  hasRoom(group: string): boolean {
    return this.pagesOf(group) < this.#options.quota(group)
  }

  /** Puts a page in its place, as the youngest of its group; its parent, if it has one, is in the index. */
  insert(page: PrefixPage, parent: PrefixNode | null, view: PageView): PrefixNode {
    const node: PrefixNode = { page, view, parent, children: new Set(), state: 'sealing', seals: null, borrowers: 0 }
    this.#byKey.set(nameOf(page.key), node)
    this.#byOwner.set(view.owner, node)
    parent?.children.add(node)
    const group = this.#groups.get(page.group)
    if (group === undefined) this.#groups.set(page.group, new Set([node]))
    else group.add(node)
    for (let above = parent; above !== null; above = above.parent) this.#touch(above)
    return node
  }

  /** A path, from the first page of a prompt on, was used. */
  use(path: readonly PrefixNode[]): void {
    for (let i = path.length - 1; i >= 0; i--) this.#touch(path[i]!)
  }

  /** The node and all that hangs on it leave the index. Returns them, the node first. */
  remove(node: PrefixNode): readonly PrefixNode[] {
    if (node.state === 'gone') return []
    const removed: PrefixNode[] = [node]
    for (let i = 0; i < removed.length; i++) removed.push(...removed[i]!.children)
    node.parent?.children.delete(node)
    for (const one of removed) this.#forget(one)
    return removed
  }

  /**
   * Whose page goes next: the group that holds most pays first, so that one tenant's flood costs the others nothing, and
   * within it the leaf that was used longest ago. Public pages go when no tenant's can. Null: every page is in use.
   */
  victim(): PrefixNode | null {
    const tenants = [...this.#groups.keys()].filter((group) => group !== PUBLIC_GROUP)
    tenants.sort((a, b) => this.pagesOf(b) - this.pagesOf(a))
    for (const group of [...tenants, PUBLIC_GROUP]) {
      const node = this.victimOf(group)
      if (node !== null) return node
    }
    return null
  }

  /** The leaf of this group that was used longest ago, is ready, and that nobody borrows; never one of those `kept`. */
  victimOf(group: string, kept: readonly PrefixNode[] = []): PrefixNode | null {
    for (const node of this.#groups.get(group) ?? []) {
      const { state, children, borrowers } = node
      if (state === 'ready' && children.size === 0 && borrowers === 0 && !kept.includes(node)) return node
    }
    return null
  }

  #touch(node: PrefixNode): void {
    const group = this.#groups.get(node.page.group)
    if (group?.delete(node)) group.add(node)
  }

  #forget(node: PrefixNode): void {
    node.state = 'gone'
    this.#byKey.delete(nameOf(node.page.key))
    this.#byOwner.delete(node.view.owner)
    const group = this.#groups.get(node.page.group)
    group?.delete(node)
    if (group?.size === 0) this.#groups.delete(node.page.group)
  }
}

/** Bytes as a map key: one character each. */
const nameOf = (key: Uint8Array): string => String.fromCharCode.apply(null, key as ArrayLike<number> as number[])
