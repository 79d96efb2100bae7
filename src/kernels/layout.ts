import { KernelsError } from './errors.ts'
import type { KernelShape } from './types.ts'

/** Private scratch regions in a pool, one for each instance that runs at the same time. */
export const LANES = 8
/** WebAssembly addresses are 32 bits; the last 64 KiB stay out so that no end address wraps to 0. */
const MEMORY_LIMIT = 65_535 * 65_536
const GUARD_BYTES = 64
/** Bytes at the lane's start for its job record, crew control words, seal key and seal input. */
export const LANE_HEAD = 2048
/** In the lane's head: the crew's state word, and whether a helper is there. */
export const CREW_STATE = 64
export const CREW_HERE = 68
export const SLICE_BYTES = 64
export const ITEM_BYTES = 16
const STAGING_BYTES = 8 * 1024 * 1024
/** Queries (rows × heads of a group) that one work item aims at: few enough for the L1 cache, enough to reuse each page. */
const ITEM_QUERIES = 32

/** Byte offsets within a lane, from its start. */
export interface LaneLayout {
  /** Rows and table entries that one kernel call can take; longer calls are cut, which changes no bit. */
  readonly rows: number
  readonly entries: number
  readonly rowsPerItem: number
  readonly queries: number
  readonly slices: number
  readonly items: number
  readonly tables: number
  readonly rope: number
  readonly qkv: number
  readonly out: number
  readonly scratch: number
  readonly bytes: number
}

export interface PoolLayout {
  readonly tags: number
  readonly filled: number
  readonly lanes: number
  readonly blocks: number
  readonly lane: LaneLayout
  readonly blockBytes: number
  /** The pool's own bytes. */
  readonly bytes: number
}

const align = (n: number): number => Math.ceil(n / 64) * 64

const isCount = (n: number): boolean => Number.isSafeInteger(n) && n > 0

function assertShape(shape: KernelShape): void {
  const { pages, pageSize, layers, heads, kvHeads, headDim } = shape
  const bad = (message: string): never => {
    throw new KernelsError({ code: 'bad_shape', message })
  }
  if (![pages, pageSize, layers, heads, kvHeads, headDim].every(isCount))
    bad('every number of a pool shape is a positive integer')
  if (pageSize % 4 !== 0 || 128 % pageSize !== 0) bad(`page size ${pageSize} is not a multiple of 4 that divides 128`)
  if (heads % kvHeads !== 0) bad(`${heads} query heads do not share ${kvHeads} KV heads evenly`)
  if (headDim % 4 !== 0) bad(`head width ${headDim} is not a multiple of 4`)
  if (headDim > 32_767 || kvHeads > 32_767) bad(`${kvHeads} KV heads of width ${headDim} are out of range`)
}

/** Bytes of KV that one token takes over all layers. */
export function kvBytesPerToken(shape: Omit<KernelShape, 'pages' | 'pageSize' | 'heads'>): number {
  return shape.layers * 2 * shape.kvHeads * shape.headDim * 4
}

function layLane(shape: KernelShape): LaneLayout {
  const { heads, kvHeads, headDim, pages, pageSize } = shape
  const head = headDim * 4
  const qkvRow = (heads + 2 * kvHeads) * head
  const group = heads / kvHeads
  const rows = Math.min(512, Math.max(64, Math.floor(STAGING_BYTES / (qkvRow + heads * head))))
  const entries = Math.max(pages, 1024)
  const queries = Math.max(ITEM_QUERIES, group)
  const rowsPerItem = Math.floor(queries / group)
  const slices = LANE_HEAD
  const items = slices + rows * SLICE_BYTES
  const tables = align(items + rows * kvHeads * ITEM_BYTES)
  const rope = align(tables + entries * 12)
  const qkv = align(rope + rows * head)
  // A partly filled page is gathered here before it is sealed.
  const out = align(qkv + Math.max(rows * qkvRow, 2 * kvHeads * pageSize * head))
  const scratch = align(out + rows * heads * head)
  const bytes = align(scratch + queries * (2 * head + 512 + 12) + 512)
  return { rows, entries, rowsPerItem, queries, slices, items, tables, rope, qkv, out, scratch, bytes }
}

function layPool(shape: KernelShape, base = 0): PoolLayout {
  assertShape(shape)
  const { pages, pageSize, layers, kvHeads, headDim } = shape
  const lane = layLane(shape)
  const blockBytes = 2 * kvHeads * pageSize * headDim * 4 + GUARD_BYTES
  const tags = base + 1024
  const filled = align(tags + pages * 8)
  const lanes = align(filled + pages * layers)
  const blocks = align(lanes + LANES * lane.bytes)
  return { tags, filled, lanes, blocks, lane, blockBytes, bytes: blocks + pages * layers * blockBytes - base }
}

/** Bytes of memory a pool takes: KV, guard rows, tags and scratch. Scratch is touched only by lanes in use. */
export function poolBytes(shape: KernelShape): number {
  return Math.ceil(layPool(shape).bytes / 65_536) * 65_536
}

/** Where each of these pools begins if they stand in one memory, and the bytes they take together. */
export interface JointLayout {
  readonly bases: readonly number[]
  readonly bytes: number
}

/** Throws `bad_shape`, or `pool_too_large` where each of several pools may be small enough, but not all of them together. */
export function jointLayout(shapes: readonly KernelShape[]): JointLayout {
  const sizes = shapes.map(poolBytes)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  if (shapes.length > 1 && bytes > MEMORY_LIMIT) {
    const pages = shapes.map((shape) => shape.pages)
    throw new KernelsError({
      code: 'pool_too_large',
      message: `pools of ${pages.join(' and ')} pages take ${bytes} bytes together; in one memory 32-bit addresses reach ${MEMORY_LIMIT}`,
      details: { pages: pages.reduce((sum, count) => sum + count, 0), bytes, limit: MEMORY_LIMIT },
    })
  }
  return { bases: sizes.map((_, at) => sizes.slice(0, at).reduce((sum, size) => sum + size, 0)), bytes }
}

/** The most pages that each of two equal pools in one memory can have; 0 if not even one each fits. */
export function largestPair(shape: Omit<KernelShape, 'pages'>): number {
  return largestWhere((pages) => 2 * poolBytes({ ...shape, pages }) <= MEMORY_LIMIT)
}

/** The most pages a pool of this shape can have (32-bit addresses: 4 GiB less scratch); 0 if not even one fits. */
export function largestPool(shape: Omit<KernelShape, 'pages'>): number {
  return largestWhere((pages) => layPool({ ...shape, pages }).bytes <= MEMORY_LIMIT)
}

/** The largest page count that fits, where every smaller one fits too. */
function largestWhere(fits: (pages: number) => boolean): number {
  let low = 0
  let high = Math.floor(MEMORY_LIMIT / 128)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

/** Where things stand, as addresses in a memory in which the pool begins at `base`. Throws `bad_shape`, or `pool_too_large` naming the largest pool that fits. */
export function poolLayout(shape: KernelShape, base = 0): PoolLayout {
  const layout = layPool(shape, base)
  if (layout.bytes <= MEMORY_LIMIT) return layout
  const largest = largestPool(shape)
  throw new KernelsError({
    code: 'pool_too_large',
    message: `a pool of ${shape.pages} pages takes ${layout.bytes} bytes; the largest that 32-bit addresses reach has ${largest} pages (${largest * shape.pageSize} tokens)`,
    details: { pages: shape.pages, largest },
  })
}
