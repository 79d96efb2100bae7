import { attentionCall } from './attention.ts'
import { instanceSettings, laneAt } from './configure.ts'
import { KernelsError } from './errors.ts'
import { LANES, poolLayout } from './layout.ts'
import { instantiate } from './module.ts'
import { rotaryTable } from './rotary.ts'
import { pageRows, readTag } from './rows.ts'
import { sealer } from './seal.ts'
import type { KernelPageTable, PoolKernels, PoolMemory, PoolOptions } from './types.ts'

/** About 1,500 cached tokens of a model with 14 heads of 64: below that, waking the helper costs more than it saves. */
const SHARED_FROM = 2_500_000
const SCRUB_BYTE = { tags: -1, zero: 0, poison: 255 } as const

/**
 * One thread's kernels over a pool. Instances of other threads may work on the same memory at the same time, each with its own
 * `lane`; that two of them never touch the same page's rows at once is what the ledger is for.
 * Throws `bad_call` for a lane or rotary width out of range.
 */
export function openPool(pool: PoolMemory, options: PoolOptions): PoolKernels {
  const { memory, shape } = pool
  const { lane, checks, ropeDims } = options
  if (!Number.isInteger(lane) || lane < 0 || lane >= LANES) {
    throw new KernelsError({ code: 'bad_call', message: `lane ${lane} is not one of 0 to ${LANES - 1}` })
  }
  if (!Number.isInteger(ropeDims) || ropeDims < 0 || ropeDims % 2 !== 0 || ropeDims > shape.headDim) {
    throw new KernelsError({
      code: 'bad_call',
      message: `${ropeDims} rotary dimensions do not fit a head of ${shape.headDim}`,
    })
  }
  const layout = poolLayout(shape, pool.base)
  const laneStart = laneAt(layout, lane)
  const rotary = rotaryTable(options, options.positions)
  const wasm = instantiate(memory)
  const settings = instanceSettings(pool, layout, lane, rotary.floats)
  wasm.configure(...settings.configure)
  wasm.useScratch(...settings.useScratch)

  const bytes = new Uint8Array(memory.buffer)
  const words = new Uint32Array(memory.buffer)
  const rows = pageRows(shape, layout, bytes)
  const tables = (laneStart + layout.lane.tables) / 4

  const pageAt = (page: number): number => {
    if (Number.isInteger(page) && page >= 0 && page < shape.pages) return page
    throw new KernelsError({ code: 'bad_call', message: `page ${page} is not in a pool of ${shape.pages}` })
  }

  const stamp = (
    pages: Uint32Array,
    owners: Uint32Array,
    generations: Uint32Array,
    ordinals: Uint32Array,
    keep: number,
  ): void => {
    pages.forEach(pageAt)
    if (owners.includes(0)) throw new KernelsError({ code: 'bad_call', message: 'owner 0 is nobody' })
    for (let i = 0; i < pages.length; i++) wasm.claimPage(pages[i]!, owners[i]!, generations[i]!, ordinals[i]!, keep)
  }

  /** Guard rows from table entry `from` on, as many as the lane's table area takes at once. */
  const scan = (table: KernelPageTable, from: number, count: number): { page: number; layer: number } | null => {
    const size = layout.lane.entries
    words.set(table.pages.subarray(from, from + count), tables)
    words.set(table.owners.subarray(from, from + count), tables + size)
    words.set(table.generations.subarray(from, from + count), tables + 2 * size)
    const found = wasm.scanGuards(tables * 4, (tables + size) * 4, (tables + 2 * size) * 4, count, from)
    if (found < 0) return null
    return { page: table.pages[from + Math.floor(found / shape.layers)]!, layer: found % shape.layers }
  }

  return {
    ...rows,
    claim: (pages, owners, generations, ordinals) => stamp(pages, owners, generations, ordinals, 0),
    retag: (pages, owners, generations, ordinals) => stamp(pages, owners, generations, ordinals, 1),
    retire(pages, scrub) {
      pages.forEach(pageAt)
      for (const page of pages) wasm.retirePage(page, SCRUB_BYTE[scrub])
    },
    tag(page) {
      return readTag(words, layout, pageAt(page))
    },
    copyRows(fromPage, toPage, count) {
      wasm.copyPage(pageAt(fromPage), pageAt(toPage), rows.rowsAt(count))
    },
    attention: attentionCall({
      shape,
      layout,
      laneStart,
      checks,
      rotary,
      wasm,
      memory,
      sharedFrom: options.sharedFrom ?? SHARED_FROM,
    }),
    checkGuards(table, count = table.pages.length, first = 0) {
      if (!checks.guards) return null
      for (let from = first; from < count; from += layout.lane.entries) {
        const wrong = scan(table, from, Math.min(layout.lane.entries, count - from))
        if (wrong) return wrong
      }
      return null
    },
    ...sealer({ pool, layout, laneStart, rows, wasm, bytes }),
  }
}
