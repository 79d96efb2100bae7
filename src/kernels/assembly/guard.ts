// Guard rows: 64 bytes after K and V of every page and layer that no write plan covers. They name the page's identity and
// repeat a keyed word, so neither a stray row nor another page's guard passes.
import { GUARD, blockBytes, blockOf, guardKey0, guardKey1 } from './layout'

const M1: u64 = 0xbf58476d1ce4e5b9
const M2: u64 = 0x94d049bb133111eb

/** SplitMix64's finaliser over the identity, between the two key words. */
@inline
function keyed(owner: u32, generation: u32, ordinal: u32, layer: u32, page: u32): u64 {
  let w = guardKey0 ^ (<u64>owner | (<u64>generation << 32))
  w = (w ^ (w >> 30)) * M1
  w = (w ^ (w >> 27)) * M2
  w ^= (w >> 31) ^ guardKey1
  w += (<u64>ordinal | (<u64>layer << 32)) * 0x9e3779b97f4a7c15 + <u64>page
  w = (w ^ (w >> 30)) * M1
  w = (w ^ (w >> 27)) * M2
  return w ^ (w >> 31)
}

@inline
function identity(owner: u32, generation: u32, ordinal: u32, layer: u32): v128 {
  return i32x4.replace_lane(
    i32x4.replace_lane(i32x4.replace_lane(i32x4.splat(<i32>owner), 1, <i32>generation), 2, <i32>ordinal), 3, <i32>layer
  )
}

@inline
function guardAt(layer: u32, page: u32): usize {
  return blockOf(layer, page) + blockBytes - GUARD
}

export function stampGuard(owner: u32, generation: u32, ordinal: u32, layer: u32, page: u32): void {
  const at = guardAt(layer, page)
  const w = i64x2.splat(<i64>keyed(owner, generation, ordinal, layer, page))
  const id = identity(owner, generation, ordinal, layer)
  v128.store(at, w)
  v128.store(at, id, 16)
  v128.store(at, v128.not(w), 32)
  v128.store(at, v128.xor(w, id), 48)
}

export function clearGuard(layer: u32, page: u32): void {
  memory.fill(guardAt(layer, page), 0, GUARD)
}

export function guardHolds(owner: u32, generation: u32, ordinal: u32, layer: u32, page: u32): bool {
  const at = guardAt(layer, page)
  const w = i64x2.splat(<i64>keyed(owner, generation, ordinal, layer, page))
  const id = identity(owner, generation, ordinal, layer)
  const wrong = v128.or(
    v128.or(v128.xor(v128.load(at), w), v128.xor(v128.load(at, 16), id)),
    v128.or(v128.xor(v128.load(at, 32), v128.not(w)), v128.xor(v128.load(at, 48), v128.xor(w, id)))
  )
  return !v128.any_true(wrong)
}
