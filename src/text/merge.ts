import { BucketQueue } from './merge-queue.ts'

/** How a vocabulary merges: which neighbours join, in what order. */
export interface MergeRules {
  /** Priority of joining the neighbours that start at `left` and `right`, lower first; -1: they never join. */
  priority(left: number, right: number): number
  /** `left` takes over `right`; `priority` is the one they joined under. */
  join(left: number, right: number, priority: number): void
}

/** Below this, scanning for the best pair beats a queue. */
const SCAN_LIMIT = 40

/**
 * Merges neighbours, best priority first, leftmost among equals, until none joins: the order of llama.cpp's BPE and
 * SentencePiece tokenizers. `next[i]` is the symbol after i, or `count`; on return the list holds what is left.
 * A symbol is named by its first position. Cost: n²/2 for a few symbols, else n log n at worst and near n in runs.
 */
export function mergeAll(count: number, rules: MergeRules, scratch: MergeScratch): void {
  scratch.reserve(count)
  if (count <= SCAN_LIMIT) scanMerge(count, rules, scratch)
  else queueMerge(count, rules, scratch)
}

/** Working memory, kept between calls unless a huge piece made it large. */
export class MergeScratch {
  next = new Int32Array(64)
  previous = new Int32Array(64)
  /** Priority of the pair (i, next[i]); -1 none, or i is gone. */
  pending = new Int32Array(64)

  reserve(count: number): void {
    if (count <= this.next.length && !(this.next.length > KEEP && count <= KEEP)) return
    const size = Math.max(64, count)
    this.next = new Int32Array(size)
    this.previous = new Int32Array(size)
    this.pending = new Int32Array(size)
  }
}

const KEEP = 1 << 16

function link(count: number, rules: MergeRules, { next, previous, pending }: MergeScratch): void {
  for (let i = 0; i < count; i++) {
    next[i] = i + 1
    previous[i] = i - 1
    pending[i] = i + 1 < count ? rules.priority(i, i + 1) : -1
  }
}

function scanMerge(count: number, rules: MergeRules, scratch: MergeScratch): void {
  link(count, rules, scratch)
  const { next, pending } = scratch
  for (;;) {
    let best = -1
    let left = -1
    for (let i = 0; i < count; i = next[i]!) {
      const priority = pending[i]!
      if (priority >= 0 && (best < 0 || priority < best)) {
        best = priority
        left = i
      }
    }
    if (left < 0) return
    joinAt(left, best, count, rules, scratch)
  }
}

function queueMerge(count: number, rules: MergeRules, scratch: MergeScratch): void {
  link(count, rules, scratch)
  const { previous, pending } = scratch
  const queue = new BucketQueue()
  for (let i = 0; i < count; i++) if (pending[i]! >= 0) queue.push(pending[i]!, i)
  while (queue.pop()) {
    const left = queue.position
    // a pair that changed since it was queued has another priority now, and its own entry
    if (pending[left] !== queue.priority) continue
    joinAt(left, queue.priority, count, rules, scratch)
    const before = previous[left]!
    if (before >= 0 && pending[before]! >= 0) queue.push(pending[before]!, before)
    if (pending[left]! >= 0) queue.push(pending[left]!, left)
  }
}

function joinAt(left: number, priority: number, count: number, rules: MergeRules, scratch: MergeScratch): void {
  const { next, previous, pending } = scratch
  const right = next[left]!
  rules.join(left, right, priority)
  const after = next[right]!
  next[left] = after
  pending[right] = -1
  if (after < count) previous[after] = left
  pending[left] = after < count ? rules.priority(left, after) : -1
  const before = previous[left]!
  if (before >= 0) pending[before] = rules.priority(before, left)
}
