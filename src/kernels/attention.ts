import { KernelsError } from './errors.ts'
import { CREW_HERE, CREW_STATE, type PoolLayout, SLICE_BYTES } from './layout.ts'
import type { KernelExports } from './module.ts'
import { pageNotFinite } from './not-finite.ts'
import type { RotaryTable } from './rotary.ts'
import type { AttentionFault, AttentionSequence, FaultKind, KernelChecks, KernelShape, PoolKernels } from './types.ts'

const FAULTS: readonly (FaultKind | null)[] = [
  null,
  'page_tag',
  'unfilled_row',
  'guard_row',
  'write_order',
  'not_finite',
]
const NO_PAGE = 0xffff_ffff
const FAULT_WORD = 11

export interface AttentionParts {
  readonly shape: KernelShape
  readonly layout: PoolLayout
  readonly laneStart: number
  readonly checks: KernelChecks
  readonly rotary: RotaryTable
  readonly wasm: KernelExports
  readonly memory: WebAssembly.Memory
  /** Multiply-adds of a job from which on the lane's helper, if it is there, gets a share. */
  readonly sharedFrom: number
}

/** Rows of one sequence that go into one job. */
interface Slice {
  readonly sequence: number
  /** First row within the sequence, and within the call's buffers. */
  readonly row: number
  readonly bufferRow: number
  readonly rows: number
}

/**
 * The host's half of `PoolKernels.attention`: cuts the call into jobs that fit the lane, copies q, k, v and the tables in,
 * runs the kernel, copies the result out. Cutting changes no bit, since a row's sums know nothing of other rows.
 */
export function attentionCall(parts: AttentionParts): PoolKernels['attention'] {
  const { shape, layout, laneStart, rotary, wasm, memory } = parts
  const { lane } = layout
  const words = new Uint32Array(memory.buffer)
  const floats = new Float32Array(memory.buffer)
  const qkvFloats = (shape.heads + 2 * shape.kvHeads) * shape.headDim
  const outFloats = shape.heads * shape.headDim
  const flags = checkFlags(parts.checks)
  const crew = new Int32Array(memory.buffer)
  const tables = laneStart + lane.tables

  /** Writes the slice's record, table and rotary rows; `entry` and `stagedRow` are its places in the lane. */
  const place = (
    at: number,
    sequence: AttentionSequence,
    slice: Slice,
    entry: number,
    entries: number,
    stagedRow: number,
  ): void => {
    const { table, start, rows, write } = sequence
    const record = (laneStart + lane.slices + at * SLICE_BYTES) / 4
    const owners = entry + lane.entries
    const generations = owners + lane.entries
    words.set(table.pages.subarray(0, entries), tables / 4 + entry)
    words.set(table.owners.subarray(0, entries), tables / 4 + owners)
    words.set(table.generations.subarray(0, entries), tables / 4 + generations)
    rotary.copy(start + slice.row, slice.rows, floats, (laneStart + lane.rope) / 4 + stagedRow * rotary.floats)
    words[record] = start + slice.row
    words[record + 1] = slice.rows
    words[record + 2] = start + rows
    words[record + 3] = write === 'append' ? 1 : 0
    words[record + 4] = tables + entry * 4
    words[record + 5] = tables + owners * 4
    words[record + 6] = tables + generations * 4
    words[record + 7] = entries
    words[record + 8] = laneStart + lane.qkv + stagedRow * qkvFloats * 4
    words[record + 9] = laneStart + lane.out + stagedRow * outFloats * 4
    words[record + 10] = laneStart + lane.rope + stagedRow * rotary.floats * 4
    words[record + FAULT_WORD] = 0
  }

  return (layer, sequences, qkv, out) => {
    assertCall(shape, layer, sequences, qkv.length / qkvFloats, out.length / outFloats)
    const faults = new Map<number, AttentionFault>()
    let job: Slice[] = []
    let rows = 0
    let entries = 0
    let macs = 0

    const run = (): void => {
      if (job.length === 0) return
      const from = job[0]!.bufferRow
      floats.set(qkv.subarray(from * qkvFloats, (from + rows) * qkvFloats), (laneStart + lane.qkv) / 4)
      wasm.plan(laneStart, laneStart + lane.slices, job.length, layer, flags, laneStart + lane.items, lane.rowsPerItem)
      if (macs >= parts.sharedFrom && Atomics.load(crew, (laneStart + CREW_HERE) / 4) === 1) {
        wasm.share(laneStart + CREW_STATE, laneStart)
      } else {
        wasm.work(laneStart)
      }
      const staged = (laneStart + lane.out) / 4
      out.set(floats.subarray(staged, staged + rows * outFloats), from * outFloats)
      for (const [i, slice] of job.entries()) {
        const record = (laneStart + lane.slices + i * SLICE_BYTES) / 4 + FAULT_WORD
        const kind = FAULTS[words[record]!]
        if (!kind) continue
        const named = words[record + 1]!
        const { table, start } = sequences[slice.sequence]!
        const page =
          kind === 'not_finite'
            ? pageNotFinite(shape, layout, floats, layer, table.pages, start + slice.row + slice.rows)
            : named
        faults.set(slice.sequence, { sequence: slice.sequence, kind, page: page === NO_PAGE ? -1 : page })
      }
      job = []
      rows = 0
      entries = 0
      macs = 0
    }

    let bufferRow = 0
    for (const [index, sequence] of sequences.entries()) {
      const entriesNeeded = Math.ceil((sequence.start + sequence.rows) / shape.pageSize)
      // A table that does not cover its rows, or more than any pool holds, is that sequence's fault alone.
      if (entriesNeeded > Math.min(sequence.table.pages.length, lane.entries)) {
        run()
        faults.set(index, { sequence: index, kind: 'page_tag', page: -1 })
      }
      for (let row = 0; row < sequence.rows && !faults.has(index); ) {
        if (rows === lane.rows || entries + entriesNeeded > lane.entries) run()
        if (faults.has(index)) break
        const count = Math.min(sequence.rows - row, lane.rows - rows)
        const slice: Slice = { sequence: index, row, bufferRow: bufferRow + row, rows: count }
        place(job.length, sequence, slice, entries, entriesNeeded, rows)
        job.push(slice)
        rows += count
        entries += entriesNeeded
        macs += 2 * count * (sequence.start + row + count / 2) * outFloats
        row += count
        // The next rows of this sequence read what these write.
        if (row < sequence.rows) run()
      }
      bufferRow += sequence.rows
    }
    run()

    bufferRow = 0
    for (const [index, sequence] of sequences.entries()) {
      if (faults.has(index)) out.fill(0, bufferRow * outFloats, (bufferRow + sequence.rows) * outFloats)
      bufferRow += sequence.rows
    }
    return [...faults.values()]
  }
}

function checkFlags(checks: KernelChecks): number {
  return (checks.tags ? 1 : 0) | (checks.filled ? 2 : 0) | (checks.guards ? 4 : 0) | ((checks.finite ?? true) ? 8 : 0)
}

function assertCall(
  shape: KernelShape,
  layer: number,
  sequences: readonly AttentionSequence[],
  qkvRows: number,
  outRows: number,
): void {
  const bad = (message: string): never => {
    throw new KernelsError({ code: 'bad_call', message })
  }
  if (!Number.isInteger(layer) || layer < 0 || layer >= shape.layers)
    bad(`layer ${layer} is not one of ${shape.layers}`)
  let rows = 0
  for (const { start, rows: count, table } of sequences) {
    if (!Number.isInteger(start) || start < 0 || !Number.isInteger(count) || count < 0) bad('start and rows are counts')
    if (table.owners.length !== table.pages.length || table.generations.length !== table.pages.length) {
      bad('the columns of a page table differ in length')
    }
    rows += count
  }
  if (qkvRows < rows || outRows < rows)
    bad(`buffers for ${Math.floor(Math.min(qkvRows, outRows))} rows, but ${rows} rows asked for`)
}
