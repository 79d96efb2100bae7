// Judges a sequence's pages before anything is written, then rotates K and stores K and V of the slice's rows.
import { blockOf, filledOf, halfBlock, headBytes, headPage, heads, kvHeads, pageSize, pages, ropeFloats, tagOf } from './layout'
import { guardHolds } from './guard'
import { rotate } from './rotary'
import {
  CHECK_FILLED, CHECK_GUARDS, CHECK_TAGS, FAULT_GUARD_ROW, FAULT_PAGE_TAG, FAULT_UNFILLED_ROW, FAULT_WRITE_ORDER, NO_PAGE,
  Slice, raise
} from './slice'

/** Is the page at `index` of the table the one that its reader expects? Raises the fault if not. */
export function tagHolds(slice: Slice, index: u32, checks: u32): bool {
  const at = <usize>index << 2
  const page = load<u32>(slice.pages + at)
  // A page outside the pool is refused whatever the checks: there is no memory behind it.
  if (page >= pages) {
    raise(slice, FAULT_PAGE_TAG, page)
    return false
  }
  if (checks & CHECK_TAGS) {
    const tag = tagOf(page)
    const owner = load<u32>(slice.owners + at)
    if (owner == 0 || load<u32>(tag) != owner || load<u32>(tag, 4) != load<u32>(slice.generations + at)) {
      raise(slice, FAULT_PAGE_TAG, page)
      return false
    }
  }
  return true
}

@inline
function guardOf(slice: Slice, index: u32, layer: u32): bool {
  const at = <usize>index << 2
  const page = load<u32>(slice.pages + at)
  if (guardHolds(load<u32>(slice.owners + at), load<u32>(slice.generations + at), index, layer, page)) return true
  raise(slice, FAULT_GUARD_ROW, page)
  return false
}

/** Tags, guard rows and filled rows of every page that positions 0 … end - 1 touch. */
function judge(slice: Slice, layer: u32, checks: u32): bool {
  const needed = (slice.end + pageSize - 1) / pageSize
  if (needed > slice.entries) {
    raise(slice, FAULT_PAGE_TAG, NO_PAGE)
    return false
  }
  for (let index: u32 = 0; index < needed; index++) {
    if (!tagHolds(slice, index, checks)) return false
    if ((checks & CHECK_GUARDS) && !guardOf(slice, index, layer)) return false
    if (checks & CHECK_FILLED) {
      const page = load<u32>(slice.pages + (<usize>index << 2))
      const filled = <u32>load<u8>(filledOf(layer, page))
      const first = index * pageSize
      if (slice.append && first + pageSize > slice.start) {
        // Written in this call: exactly the rows before its first new one may stand there.
        const before = slice.start > first ? slice.start - first : 0
        if (filled != before) {
          raise(slice, FAULT_WRITE_ORDER, page)
          return false
        }
      } else if (filled < min(pageSize, slice.end - first)) {
        raise(slice, FAULT_UNFILLED_ROW, page)
        return false
      }
    }
  }
  return true
}

/** Rows start … start + rows - 1: judged, then written (append) and counted as filled. */
export function prepare(slice: Slice, layer: u32, checks: u32): void {
  if (!judge(slice, layer, checks) || !slice.append) return
  const one = f32x4.splat(1)
  const rowBytes = <usize>(heads + 2 * kvHeads) * headBytes
  for (let row: u32 = 0; row < slice.rows; row++) {
    const position = slice.start + row
    const page = load<u32>(slice.pages + (<usize>(position / pageSize) << 2))
    const slot = position % pageSize
    let source = slice.qkv + <usize>row * rowBytes + <usize>heads * headBytes
    let target = blockOf(layer, page) + <usize>slot * headBytes
    const table = slice.rope + <usize>row * (<usize>ropeFloats << 2)
    for (let head: u32 = 0; head < kvHeads; head++) {
      rotate(source, target, table, one)
      memory.copy(target + halfBlock, source + <usize>kvHeads * headBytes, headBytes)
      source += headBytes
      target += headPage
    }
    store<u8>(filledOf(layer, page), <u8>(slot + 1))
  }
  if (checks & CHECK_GUARDS) {
    const last = (slice.start + slice.rows - 1) / pageSize
    for (let index = slice.start / pageSize; index <= last; index++) {
      if (!guardOf(slice, index, layer)) return
    }
  }
}
