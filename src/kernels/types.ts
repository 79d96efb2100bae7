/**
 * The pool's memory and what may be done to it. One shared WebAssembly.Memory per pool (each process thread makes its own
 * instance over it), so the main thread may place received rows while the forward thread computes on others.
 * ONNX Runtime refuses shared memory on Node.js 20, so q, k, v come in and attention goes out by copy at this edge.
 */

/** As kv's, restated because kernels import nothing. */
export interface KernelPageTable {
  readonly pages: Uint32Array
  readonly owners: Uint32Array
  readonly generations: Uint32Array
}

export interface KernelShape {
  readonly pages: number
  /** Rows per page: a multiple of 4 that divides 128. */
  readonly pageSize: number
  readonly layers: number
  /** A multiple of `kvHeads`. */
  readonly heads: number
  readonly kvHeads: number
  /** A multiple of 4; 32, 64 and 128 have the fast paths. */
  readonly headDim: number
}

/** Everything another thread needs to open the same pool; structured-cloneable. */
export interface PoolMemory {
  readonly memory: WebAssembly.Memory
  readonly shape: KernelShape
  /** Byte of the memory at which this pool begins, a multiple of 64. Absent: 0, and the pool is alone in its memory. */
  readonly base?: number
  /** Two random 64-bit words that key the guard rows, one pair per process and epoch. */
  readonly key: BigUint64Array
  /** 32 bytes from which the NH pass of seals takes its key; the same in every process whose seals must agree. */
  readonly sealKey: Uint8Array
}

/** R5 and guard rows. All true in `serve`; only lab, bench and tests turn one off. */
export interface KernelChecks {
  readonly tags: boolean
  readonly filled: boolean
  readonly guards: boolean
  /** Whether NaN or infinity in a sequence's attention is a fault (`not_finite`) or passes through. Default true. */
  readonly finite?: boolean
}

/** Rotary embedding over interleaved pairs of the first `ropeDims` dimensions (even, 0 for none). */
export interface KernelRotary {
  readonly ropeTheta: number
  readonly ropeDims: number
  /** Radians per position of each pair, `ropeDims / 2` of them, in place of those that follow from `ropeTheta`. */
  readonly frequencies?: Float64Array
}

export interface PoolOptions extends KernelRotary {
  /** Which private scratch this instance uses, from 0 to `LANES - 1`. Two instances that run at the same time never share one. */
  readonly lane: number
  readonly checks: KernelChecks
  /** Positions whose rotary rows are computed at opening; those beyond are computed when first asked for. Default 0. */
  readonly positions?: number
  /** Multiply-adds of a call from which on it is shared with the lane's helper, if one is there. Default 2.5 million. */
  readonly sharedFrom?: number
}

export type FaultKind = 'page_tag' | 'unfilled_row' | 'guard_row' | 'write_order' | 'not_finite'

/** Rows of one sequence in one attention call, the sequence's rows being consecutive in `qkv`. */
export interface AttentionSequence {
  readonly table: KernelPageTable
  readonly start: number
  readonly rows: number
  readonly write: 'append' | 'recompute'
}

export interface AttentionFault {
  readonly sequence: number
  readonly kind: FaultKind
  /** The page as the table names it; -1 where no page is to blame (a table too short for its rows, numbers that are finite and too wild). */
  readonly page: number
}

/**
 * Another pool in the same memory, as a one-sided writer sees it: it may look at tags and put rows into pages, and nothing else.
 * Whether it still may is between the two pools' owners (R6); memory has no opinion.
 */
export interface NeighbourPool {
  /** The tag that stands in memory. */
  tag(page: number): { readonly owner: number; readonly generation: number }
  /**
   * Copies `rows` rows of one layer from a page of the own pool into page `to` of the neighbour's: plain copies, no buffer in
   * between. Tag, filled rows and guard rows of the page stay as they are.
   */
  storeRows(from: number, layer: number, rows: number, to: number): void
}

/** One thread's instance over a pool. Not reentrant. */
export interface PoolKernels {
  /** Stamps tag (owner, generation) and guard rows of all layers, sets filled rows to 0. `ordinals[i]` is the page's place in its table. */
  claim(pages: Uint32Array, owners: Uint32Array, generations: Uint32Array, ordinals: Uint32Array): void
  /** As `claim`, but the rows stay and keep counting as filled: a page that changes hands with its content. */
  retag(pages: Uint32Array, owners: Uint32Array, generations: Uint32Array, ordinals: Uint32Array): void
  /**
   * Clears the tag's owner, filled rows and guard rows; `zero` and `poison` (NaN) also overwrite the rows, and then clear the
   * generation. So owner 0 is nobody's page, and one of generation 0 besides has no rows of anybody's.
   */
  retire(pages: Uint32Array, scrub: 'tags' | 'zero' | 'poison'): void
  /** The tag that stands in memory. */
  tag(page: number): { readonly owner: number; readonly generation: number }
  filled(page: number, layer: number): number
  /** Says that rows 0 … rows - 1 of the page stand in this layer; used after `writeRows`. */
  markFilled(page: number, layer: number, rows: number): void
  /** Bytes of `rows` rows of one layer of a page: K of all heads, then V. */
  rowBytes(rows: number): number
  readRows(page: number, layer: number, rows: number, into: Uint8Array): void
  writeRows(page: number, layer: number, rows: number, from: Uint8Array): void
  /**
   * Row copy within the pool (n > 1: each sequence's own tail page), all layers. The target then counts as filled
   * what the source does, at most `rows`.
   */
  copyRows(fromPage: number, toPage: number, rows: number): void
  /**
   * Rotary embedding, KV append and paged attention of one layer over a batch. `qkv` is rows × (heads + 2 kvHeads) × headDim,
   * `out` rows × heads × headDim, both plain (not shared) f32. A sequence with a fault gets zeros in `out` and is reported;
   * the others' bits do not change. All its pages' tags, guard rows and filled rows are judged before it writes its first row,
   * so a sequence found wrong there writes nothing. Bits of a row depend on its own sequence alone.
   */
  attention(
    layer: number,
    sequences: readonly AttentionSequence[],
    qkv: Float32Array,
    out: Float32Array,
  ): AttentionFault[]
  /**
   * Guard rows of a table's pages `first` (default 0) to `count - 1` (default all) in every layer; the first that is wrong, or
   * null. One call of the kernel for all of them. Always null when the instance was opened with `guards: false`.
   */
  checkGuards(
    table: KernelPageTable,
    count?: number,
    first?: number,
  ): { readonly page: number; readonly layer: number } | null
  /** 16-byte seal over `rows` rows of one layer of a page under a 32-byte lineage key (R8); see `seal.ts` for its bound. */
  seal(page: number, layer: number, rows: number, lineageKey: Uint8Array): Uint8Array
  /** What `seal` would give if the page held `from`, in the order of `readRows`: what arrives is judged before it touches a page. */
  sealRows(layer: number, rows: number, from: Uint8Array, lineageKey: Uint8Array): Uint8Array
}
