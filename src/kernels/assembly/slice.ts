// A slice: consecutive rows of one sequence in one job. The host writes these records; the kernel writes only the fault.

export const CHECK_TAGS: u32 = 1
export const CHECK_FILLED: u32 = 2
export const CHECK_GUARDS: u32 = 4
export const CHECK_FINITE: u32 = 8

export const FAULT_PAGE_TAG: u32 = 1
export const FAULT_UNFILLED_ROW: u32 = 2
export const FAULT_GUARD_ROW: u32 = 3
export const FAULT_WRITE_ORDER: u32 = 4
export const FAULT_NOT_FINITE: u32 = 5
/** Stands for "no page" in a fault. */
export const NO_PAGE: u32 = 0xffffffff

@unmanaged
export class Slice {
  /** Position of the first row. */
  start: u32
  rows: u32
  /** Position after the sequence's last row in the whole call, at least start + rows. */
  end: u32
  append: u32
  /** Pages, owners, generations: three arrays of `entries` words. */
  pages: usize
  owners: usize
  generations: usize
  entries: u32
  qkv: usize
  out: usize
  rope: usize
  fault: u32
  faultPage: u32
  spare0: u32
  spare1: u32
  spare2: u32
}

/** The first fault stays; two threads may find one at the same time. */
export function raise(slice: Slice, fault: u32, page: u32): void {
  const at = changetype<usize>(slice) + offsetof<Slice>('fault')
  if (atomic.cmpxchg<u32>(at, 0, fault) == 0) slice.faultPage = page
}

@inline
export function faulted(slice: Slice): bool {
  return atomic.load<u32>(changetype<usize>(slice) + offsetof<Slice>('fault')) != 0
}
