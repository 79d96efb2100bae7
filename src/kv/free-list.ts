/** The pages nobody has. A ledger owns its list; only the laboratory hands one in, to see what a list that is wrong does. */
export interface FreeList {
  readonly size: number
  /** Undefined when none is left. */
  pop(): number | undefined
  push(page: number): void
  /** What is on the list now, for the audit. */
  list(): Uint32Array
}

/** A stack over all pages of a pool: page 0 is claimed first, and what was freed last is claimed next. */
export function stackOfPages(pages: number): FreeList {
  const stack = Uint32Array.from({ length: pages }, (_, i) => pages - 1 - i)
  let size = pages
  return {
    get size() {
      return size
    },
    pop: () => (size === 0 ? undefined : stack[--size]),
    push: (page) => {
      // Length is fixed: a push beyond it would be lost silently, the count is what the conservation check sees.
      stack[size++] = page
    },
    list: () => stack.subarray(0, size),
  }
}
