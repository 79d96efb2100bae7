// Whole-page operations: tags, filled rows, guard rows, scrubbing and row copies.
import { GUARD, blockBytes, blockOf, filledOf, headBytes, headPage, kvHeads, layers, pages, tagOf } from './layout'
import { clearGuard, guardHolds, stampGuard } from './guard'

/** Tag and guard rows of every layer; filled rows fall to 0 unless `keepRows`. */
export function claimPage(page: u32, owner: u32, generation: u32, ordinal: u32, keepRows: bool): void {
  for (let layer: u32 = 0; layer < layers; layer++) {
    if (!keepRows) store<u8>(filledOf(layer, page), 0)
    stampGuard(owner, generation, ordinal, layer, page)
  }
  store<u32>(tagOf(page), owner)
  store<u32>(tagOf(page), generation, 4)
}

/**
 * `fill` is the byte to overwrite rows with (0, or 255: every float a NaN), negative to leave them. The owner goes first, so that
 * nobody takes what is being overwritten for theirs; the generation stays until the rows are gone, and is the mark that they are not.
 */
export function retirePage(page: u32, fill: i32): void {
  store<u32>(tagOf(page), 0)
  for (let layer: u32 = 0; layer < layers; layer++) {
    store<u8>(filledOf(layer, page), 0)
    clearGuard(layer, page)
    if (fill >= 0) memory.fill(blockOf(layer, page), <u8>fill, blockBytes - GUARD)
  }
  if (fill >= 0) store<u32>(tagOf(page), 0, 4)
}

/**
 * Guard rows in every layer of the pages of a table part whose first ordinal is given. Returns page index × layers + layer of
 * the first that is wrong, or -1. A page outside the pool is wrong in layer 0.
 */
export function scanGuards(list: usize, owners: usize, generations: usize, count: u32, firstOrdinal: u32): i32 {
  for (let i: u32 = 0; i < count; i++) {
    const at = <usize>i << 2
    const page = load<u32>(list + at)
    if (page >= pages) return <i32>(i * layers)
    const owner = load<u32>(owners + at)
    const generation = load<u32>(generations + at)
    for (let layer: u32 = 0; layer < layers; layer++) {
      if (!guardHolds(owner, generation, firstOrdinal + i, layer, page)) return <i32>(i * layers + layer)
    }
  }
  return -1
}

/** Copies rows 0 … rows - 1 of every layer; the target counts no more rows than the source has. */
export function copyPage(from: u32, to: u32, rows: u32): void {
  for (let layer: u32 = 0; layer < layers; layer++) {
    let source = blockOf(layer, from)
    let target = blockOf(layer, to)
    for (let part: u32 = 0; part < kvHeads * 2; part++) {
      memory.copy(target, source, headBytes * rows)
      source += headPage
      target += headPage
    }
    const filled = <u32>load<u8>(filledOf(layer, from))
    store<u8>(filledOf(layer, to), <u8>min(filled, rows))
  }
}
