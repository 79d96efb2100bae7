// Where things stand in the pool's memory. The host computes the layout and calls `configure` once per instance; all
// state here is WebAssembly globals, which belong to the instance and not to the memory, so threads share nothing but bytes.
// Every address is `usize`, unsigned: a pool may cross 2 GiB.

/** Bytes of a guard row. */
export const GUARD: usize = 64
/** Tokens per softmax block; absolute positions, so a row's sums never depend on its batch. */
export const BLOCK: u32 = 128
/** Bytes between the score rows of two queries. */
export const SCORE_ROW: usize = 512

export let pages: u32 = 0
export let pageSize: u32 = 0
/** log2(pageSize): page sizes divide 128. */
export let pageShift: u32 = 0
export let layers: u32 = 0
export let heads: u32 = 0
export let kvHeads: u32 = 0
export let headDim: u32 = 0

/** Bytes of one head's row. */
export let headBytes: usize = 0
/** Bytes of one head's rows in one page. */
export let headPage: usize = 0
/** Bytes from K to V in a block. */
export let halfBlock: usize = 0
/** Bytes of a block: K, V, guard row. */
export let blockBytes: usize = 0

export let tagBase: usize = 0
export let filledBase: usize = 0
export let blockBase: usize = 0
export let guardKey0: u64 = 0
export let guardKey1: u64 = 0
/** Floats of one position's rotary table row, a multiple of 4; 0 without rotary embedding. */
export let ropeFloats: u32 = 0
/** log2(e) / sqrt(headDim), multiplied into each query. */
export let queryScale: f32 = 0

export function configure(
  pages_: u32, pageSize_: u32, layers_: u32, heads_: u32, kvHeads_: u32, headDim_: u32,
  tagBase_: usize, filledBase_: usize, blockBase_: usize,
  key0: u64, key1: u64, ropeFloats_: u32, queryScale_: f32
): void {
  pages = pages_
  pageSize = pageSize_
  pageShift = ctz(pageSize)
  layers = layers_
  heads = heads_
  kvHeads = kvHeads_
  headDim = headDim_
  headBytes = <usize>headDim << 2
  headPage = headBytes * pageSize
  halfBlock = headPage * kvHeads
  blockBytes = halfBlock * 2 + GUARD
  tagBase = tagBase_
  filledBase = filledBase_
  blockBase = blockBase_
  guardKey0 = key0
  guardKey1 = key1
  ropeFloats = ropeFloats_
  queryScale = queryScale_
}

/** The block of one layer of a page: layer-major, so that pages taken in order lie in order. */
@inline
export function blockOf(layer: u32, page: u32): usize {
  return blockBase + (<usize>layer * pages + page) * blockBytes
}

@inline
export function filledOf(layer: u32, page: u32): usize {
  return filledBase + <usize>layer * pages + page
}

@inline
export function tagOf(page: u32): usize {
  return tagBase + (<usize>page << 3)
}
