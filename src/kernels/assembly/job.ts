// A job: the slices of one attention call, cut into items that any thread may take. Which thread takes an item changes no bit.
import { kvHeads } from './layout'
import { prepare } from './append'
import { attendItem } from './attend'
import { Slice, faulted } from './slice'

@unmanaged
export class Job {
  /** Number of the next item nobody has taken. */
  next: u32
  count: u32
  layer: u32
  checks: u32
  items: usize
  spare0: u32
  spare1: u32
  spare2: u32
}

@unmanaged
class Item {
  slice: Slice
  kvHead: u32
  row: u32
  rows: u32
}

/** Writes the rows of all slices and lists the items of those without a fault, `rowsPerItem` rows each. Returns their number. */
export function plan(job: Job, slices: usize, count: u32, layer: u32, checks: u32, items: usize, rowsPerItem: u32): u32 {
  let at = items
  for (let i: u32 = 0; i < count; i++) {
    const slice = changetype<Slice>(slices + <usize>i * offsetof<Slice>())
    prepare(slice, layer, checks)
    if (faulted(slice)) continue
    for (let row: u32 = 0; row < slice.rows; row += rowsPerItem) {
      for (let kvHead: u32 = 0; kvHead < kvHeads; kvHead++) {
        const item = changetype<Item>(at)
        item.slice = slice
        item.kvHead = kvHead
        item.row = row
        item.rows = min(rowsPerItem, slice.rows - row)
        at += offsetof<Item>()
      }
    }
  }
  job.count = <u32>((at - items) / offsetof<Item>())
  job.layer = layer
  job.checks = checks
  job.items = items
  atomic.store<u32>(changetype<usize>(job), 0)
  return job.count
}

/** Takes items until none is left. */
export function work(job: Job): void {
  const count = job.count
  const layer = job.layer
  const checks = job.checks
  for (;;) {
    const taken = atomic.add<u32>(changetype<usize>(job), 1)
    if (taken >= count) return
    const item = changetype<Item>(job.items + <usize>taken * offsetof<Item>())
    if (faulted(item.slice)) continue
    attendItem(item.slice, layer, item.kvHead, item.row, item.rows, checks)
  }
}
