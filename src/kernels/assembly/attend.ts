// Paged causal attention of some rows of one sequence and one K/V head: online softmax over blocks of 128 tokens at absolute
// positions (Milakov and Gimelshein 2018, in base 2). All queries of the item share the pages while they are in cache, but each
// (row, head) goes through the same operations in the same order as it would alone.
import {
  BLOCK, SCORE_ROW, blockOf, filledOf, halfBlock, headBytes, headDim, headPage, heads, kvHeads, pageSize, queryScale, ropeFloats
} from './layout'
import { tagHolds } from './append'
import { scoreAny, scoreOne, scorePair } from './dot'
import { exp2 } from './exp2'
import { mixAny, mixFour, mixOne, mixTwo } from './mix'
import { rotate } from './rotary'
import { CHECK_FILLED, CHECK_FINITE, FAULT_NOT_FINITE, FAULT_UNFILLED_ROW, NO_PAGE, Slice, raise } from './slice'

// This instance's private scratch, for up to `queries` queries.
let packed: usize = 0
let scores: usize = 0
let sums: usize = 0
let maxima: usize = 0
let totals: usize = 0
let corrections: usize = 0
let keyPages: usize = 0
let valuePages: usize = 0

/** Names the private scratch; `at` is a multiple of 16. */
export function useScratch(at: usize, queries: u32): void {
  packed = at
  sums = packed + queries * headBytes
  scores = sums + queries * headBytes
  maxima = scores + queries * SCORE_ROW
  totals = maxima + (<usize>queries << 2)
  corrections = totals + (<usize>queries << 2)
  keyPages = corrections + (<usize>queries << 2)
  valuePages = keyPages + BLOCK
}

/** Addresses of K and V in the block's pages, each checked as it is reached. */
function locate(slice: Slice, layer: u32, kvHead: u32, blockStart: u32, tokens: u32, checks: u32): bool {
  const first = blockStart / pageSize
  for (let i: u32 = 0; i * pageSize < tokens; i++) {
    if (!tagHolds(slice, first + i, checks)) return false
    const page = load<u32>(slice.pages + (<usize>(first + i) << 2))
    if ((checks & CHECK_FILLED) && <u32>load<u8>(filledOf(layer, page)) < min(pageSize, tokens - i * pageSize)) {
      raise(slice, FAULT_UNFILLED_ROW, page)
      return false
    }
    const at = blockOf(layer, page) + <usize>kvHead * headPage
    store<u32>(keyPages + (<usize>i << 2), <u32>at)
    store<u32>(valuePages + (<usize>i << 2), <u32>(at + halfBlock))
  }
  return true
}

/** Scores of queries from … to - 1 against `groups` × 4 keys of one page; `offset` is the page's place in a score row. */
@inline
function score(from: u32, to: u32, keys: usize, groups: u32, offset: usize): void {
  let q = packed + <usize>from * headBytes
  let s = scores + <usize>from * SCORE_ROW + offset
  let i = from
  if (headDim == 64) {
    for (; i + 2 <= to; i += 2, q += headBytes * 2, s += SCORE_ROW * 2) scorePair<u16>(q, keys, groups, s)
    if (i < to) scoreOne<u16>(q, keys, groups, s)
  } else if (headDim == 128) {
    for (; i + 2 <= to; i += 2, q += headBytes * 2, s += SCORE_ROW * 2) scorePair<u32>(q, keys, groups, s)
    if (i < to) scoreOne<u32>(q, keys, groups, s)
  } else if (headDim == 32) {
    for (; i + 2 <= to; i += 2, q += headBytes * 2, s += SCORE_ROW * 2) scorePair<u8>(q, keys, groups, s)
    if (i < to) scoreOne<u8>(q, keys, groups, s)
  } else {
    for (; i < to; i++, q += headBytes, s += SCORE_ROW) scoreAny(q, keys, groups, s)
  }
}

/** Turns a query's scores into weights, updates its maximum and total, and says by what its sums are to be rescaled. */
function soften(query: u32, tokens: u32): void {
  const row = scores + <usize>query * SCORE_ROW
  const end = row + (<usize>((tokens + 3) & ~3) << 2)
  for (let at = row + (<usize>tokens << 2); at < end; at += 4) store<f32>(at, -<f32>Infinity)
  let top = v128.load(row)
  for (let at = row + 16; at < end; at += 16) top = f32x4.pmax(top, v128.load(at))
  top = f32x4.pmax(top, v128.shuffle<i32>(top, top, 2, 3, 0, 1))
  top = f32x4.pmax(top, v128.shuffle<i32>(top, top, 1, 0, 3, 2))
  const slot = <usize>query << 2
  const before = v128.load32_splat(maxima + slot)
  top = f32x4.pmax(top, before)
  let total = f32x4.splat(0)
  for (let at = row; at < end; at += 16) {
    const weight = exp2(f32x4.sub(v128.load(at), top))
    v128.store(at, weight)
    total = f32x4.add(total, weight)
  }
  total = f32x4.add(total, v128.shuffle<i32>(total, total, 2, 3, 0, 1))
  total = f32x4.add(total, v128.shuffle<i32>(total, total, 1, 0, 3, 2))
  const correction = exp2(f32x4.sub(before, top))
  store<f32>(maxima + slot, f32x4.extract_lane(top, 0))
  store<f32>(corrections + slot, f32x4.extract_lane(correction, 0))
  const running = f32x4.mul(v128.load32_splat(totals + slot), correction)
  store<f32>(totals + slot, f32x4.extract_lane(f32x4.add(running, total), 0))
}

@inline
function mixSingle(query: u32, from: u32, to: u32): void {
  const at = sums + <usize>query * headBytes
  const w = scores + <usize>query * SCORE_ROW
  const c = corrections + (<usize>query << 2)
  if (headDim == 64) mixOne<u16>(at, w, valuePages, from, to, c)
  else if (headDim == 128) mixOne<u32>(at, w, valuePages, from, to, c)
  else if (headDim == 32) mixOne<u8>(at, w, valuePages, from, to, c)
  else mixAny(at, w, valuePages, from, to, c)
}

@inline
function mixTile(query: u32, count: u32, to: u32): void {
  const at = sums + <usize>query * headBytes
  const w = scores + <usize>query * SCORE_ROW
  const c = corrections + (<usize>query << 2)
  if (count == 4) {
    if (headDim == 64) mixFour<u16>(at, w, valuePages, 0, to, c)
    else if (headDim == 128) mixFour<u32>(at, w, valuePages, 0, to, c)
    else mixFour<u8>(at, w, valuePages, 0, to, c)
  } else {
    if (headDim == 64) mixTwo<u16>(at, w, valuePages, 0, to, c)
    else if (headDim == 128) mixTwo<u32>(at, w, valuePages, 0, to, c)
    else mixTwo<u8>(at, w, valuePages, 0, to, c)
  }
}

/** Divides by the totals and stores the item's rows; raises `not_finite` if a value is NaN or infinite. */
function finish(slice: Slice, kvHead: u32, row0: u32, rows: u32, checks: u32): void {
  const group = heads / kvHeads
  let wrong = f32x4.splat(0)
  let from = sums
  let total = totals
  for (let row: u32 = 0; row < rows; row++) {
    let to = slice.out + (<usize>(row0 + row) * heads + kvHead * group) * headBytes
    for (let head: u32 = 0; head < group; head++) {
      const inverse = f32x4.splat(<f32>1 / load<f32>(total))
      for (let i: usize = 0; i < headBytes; i += 16) {
        const x = f32x4.mul(v128.load(from + i), inverse)
        wrong = v128.or(wrong, f32x4.ne(f32x4.sub(x, x), f32x4.splat(0)))
        v128.store(to + i, x)
      }
      from += headBytes
      to += headBytes
      total += 4
    }
  }
  if ((checks & CHECK_FINITE) && v128.any_true(wrong)) raise(slice, FAULT_NOT_FINITE, NO_PAGE)
}

/** Rows row0 … row0 + rows - 1 of the slice with all query heads of one K/V head. */
export function attendItem(slice: Slice, layer: u32, kvHead: u32, row0: u32, rows: u32, checks: u32): void {
  const group = heads / kvHeads
  const queries = rows * group
  const position = slice.start + row0
  const scale = f32x4.splat(queryScale)
  const rowBytes = <usize>(heads + 2 * kvHeads) * headBytes
  let target = packed
  for (let row: u32 = 0; row < rows; row++) {
    let source = slice.qkv + <usize>(row0 + row) * rowBytes + <usize>(kvHead * group) * headBytes
    const table = slice.rope + <usize>(row0 + row) * (<usize>ropeFloats << 2)
    for (let head: u32 = 0; head < group; head++) {
      rotate(source, target, table, scale)
      source += headBytes
      target += headBytes
    }
  }
  memory.fill(sums, 0, <usize>queries * headBytes)
  for (let i: u32 = 0; i < queries; i++) {
    store<f32>(maxima + (<usize>i << 2), -<f32>Infinity)
    store<f32>(totals + (<usize>i << 2), 0)
  }

  const tiles = headDim == 64 || headDim == 128 || headDim == 32
  const limit = position + rows
  for (let blockStart: u32 = 0; blockStart < limit; blockStart += BLOCK) {
    const tokens = min(BLOCK, limit - blockStart)
    if (!locate(slice, layer, kvHead, blockStart, tokens, checks)) return
    // Rows before the block see none of it.
    const seen = blockStart > position ? (blockStart - position) * group : 0
    for (let page: u32 = 0; page * pageSize < tokens; page++) {
      const at = page * pageSize
      const first = blockStart + at > position ? (blockStart + at - position) * group : 0
      const groups = (min(pageSize, tokens - at) + 3) >> 2
      score(first, queries, load<u32>(keyPages + (<usize>page << 2)), groups, <usize>at << 2)
    }
    for (let query = seen; query < queries; query++) {
      soften(query, min(BLOCK, position + query / group + 1 - blockStart))
    }
    for (let query = seen; query < queries;) {
      const left = queries - query
      const count: u32 = left >= 4 ? 4 : left >= 2 ? 2 : 1
      // The tile's first query sees the fewest rows; what the others see beyond them is added one query at a time.
      const shared = min(BLOCK, position + query / group + 1 - blockStart)
      const tiled = tiles && count > 1
      if (tiled) mixTile(query, count, shared)
      const from = tiled ? shared : 0
      for (let i: u32 = 0; i < count; i++) {
        const to = min(BLOCK, position + (query + i) / group + 1 - blockStart)
        if (to > from) mixSingle(query + i, from, to)
      }
      query += count
    }
  }
  finish(slice, kvHead, row0, rows, checks)
}
