import { KernelsError } from './errors.ts'
import type { PoolLayout } from './layout.ts'
import type { KernelShape, PoolKernels } from './types.ts'

/** Rows of one layer of a page as bytes: K of head 0, of head 1, …, then V likewise; independent of the page's number. */
export interface PageRows extends Pick<PoolKernels, 'filled' | 'markFilled' | 'rowBytes' | 'readRows' | 'writeRows'> {
  /** Byte offset of a page's block; throws `bad_call` outside the pool. */
  blockAt(page: number, layer: number): number
  /** The number itself, if it is a row count of a page; throws `bad_call` otherwise. */
  rowsAt(rows: number): number
}

/** The tag that stands in memory; `page` is in the pool. */
export function readTag(
  words: Uint32Array,
  layout: PoolLayout,
  page: number,
): { readonly owner: number; readonly generation: number } {
  const at = layout.tags / 4 + 2 * page
  return { owner: words[at]!, generation: words[at + 1]! }
}

export function pageRows(shape: KernelShape, layout: PoolLayout, bytes: Uint8Array): PageRows {
  const { pages, pageSize, layers, kvHeads, headDim } = shape
  const head = headDim * 4
  const parts = kvHeads * 2

  const bad = (message: string): never => {
    throw new KernelsError({ code: 'bad_call', message })
  }
  const index = (page: number, layer: number): number => {
    if (!Number.isInteger(page) || page < 0 || page >= pages) bad(`page ${page} is not in a pool of ${pages}`)
    if (!Number.isInteger(layer) || layer < 0 || layer >= layers) bad(`layer ${layer} is not one of ${layers}`)
    return layer * pages + page
  }
  const rowsAt = (rows: number): number =>
    Number.isInteger(rows) && rows >= 0 && rows <= pageSize
      ? rows
      : bad(`${rows} rows do not fit a page of ${pageSize}`)
  const blockAt = (page: number, layer: number): number => layout.blocks + index(page, layer) * layout.blockBytes
  const rowBytes = (rows: number): number => parts * rowsAt(rows) * head
  const sized = (data: Uint8Array, rows: number): void => {
    if (data.length !== rowBytes(rows)) bad(`${rows} rows take ${rowBytes(rows)} bytes, not ${data.length}`)
  }

  return {
    blockAt,
    rowsAt,
    rowBytes,
    filled: (page, layer) => bytes[layout.filled + index(page, layer)]!,
    markFilled(page, layer, rows) {
      bytes[layout.filled + index(page, layer)] = rowsAt(rows)
    },
    readRows(page, layer, rows, into) {
      sized(into, rows)
      const chunk = rows === pageSize ? into.length : rows * head
      let at = blockAt(page, layer)
      for (let done = 0; done < into.length; done += chunk, at += pageSize * head) {
        into.set(bytes.subarray(at, at + chunk), done)
      }
    },
    writeRows(page, layer, rows, from) {
      sized(from, rows)
      const chunk = rows === pageSize ? from.length : rows * head
      let at = blockAt(page, layer)
      for (let done = 0; done < from.length; done += chunk, at += pageSize * head) {
        bytes.set(from.subarray(done, done + chunk), at)
      }
    },
  }
}
