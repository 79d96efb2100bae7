import type { KernelPageTable, KernelShape, NeighbourPool, PoolKernels } from '../../kernels/index.ts'

/** Of each leg of a rehearsal: a full page and a started one, as few as a partial delivery can be told by. */
export const REHEARSAL_PAGES = 2
const SWEEP_PAGES = 2
const FORWARD_PAGES = 3
/** Pages that a worker keeps behind those of its ledger, to drill its detectors on. */
export const DRILL_PAGES = 2 * REHEARSAL_PAGES + SWEEP_PAGES + FORWARD_PAGES

/** Pages that stand behind those of the ledger in the same pool: no request can ever be given one. */
export interface DrillPages {
  readonly prefill: number
  readonly decode: number
  readonly sweep: number
  readonly forward: number
}

/** `shape` is the ledger's; the drills' pages follow its last. Main and forward thread drill on different ones. */
export const drillPages = ({ pages }: Pick<KernelShape, 'pages'>): DrillPages => ({
  prefill: pages,
  decode: pages + REHEARSAL_PAGES,
  sweep: pages + 2 * REHEARSAL_PAGES,
  forward: pages + 2 * REHEARSAL_PAGES + SWEEP_PAGES,
})

/** The pool to make so that a ledger of `shape` and the drills have their pages in one memory. */
export const withDrillPages = (shape: KernelShape): KernelShape => ({
  ...shape,
  pages: shape.pages + DRILL_PAGES,
})

/**
 * The same kernels, with page 0 at `first`: a machine that numbers its pages from 0 works on the drills' pages and no others.
 * Every member is listed, so that one that names pages cannot slip through unshifted.
 */
export const kernelsFrom = (kernels: PoolKernels, first: number): PoolKernels => {
  const at = (page: number): number => page + first
  const all = (pages: Uint32Array): Uint32Array => pages.map(at)
  const moved = (table: KernelPageTable): KernelPageTable => ({ ...table, pages: all(table.pages) })
  return {
    claim: (pages, owners, generations, ordinals) => kernels.claim(all(pages), owners, generations, ordinals),
    retag: (pages, owners, generations, ordinals) => kernels.retag(all(pages), owners, generations, ordinals),
    retire: (pages, scrub) => kernels.retire(all(pages), scrub),
    tag: (page) => kernels.tag(at(page)),
    filled: (page, layer) => kernels.filled(at(page), layer),
    markFilled: (page, layer, rows) => kernels.markFilled(at(page), layer, rows),
    rowBytes: kernels.rowBytes,
    readRows: (page, layer, rows, into) => kernels.readRows(at(page), layer, rows, into),
    writeRows: (page, layer, rows, from) => kernels.writeRows(at(page), layer, rows, from),
    copyRows: (from, to, rows) => kernels.copyRows(at(from), at(to), rows),
    attention: (layer, sequences, qkv, out) =>
      kernels.attention(
        layer,
        sequences.map((sequence) => ({ ...sequence, table: moved(sequence.table) })),
        qkv,
        out,
      ),
    checkGuards: (table, count, from) => kernels.checkGuards(moved(table), count, from),
    seal: (page, layer, rows, lineageKey) => kernels.seal(at(page), layer, rows, lineageKey),
    sealRows: kernels.sealRows,
  }
}

/** The same for what one leg of a rehearsal may do to the pages of the other, where both legs' pages are of one pool. */
export const neighbourFrom = (itself: NeighbourPool, first: number, firstOfOther: number): NeighbourPool => ({
  tag: (page) => itself.tag(page + firstOfOther),
  storeRows: (from, layer, rows, to) => itself.storeRows(from + first, layer, rows, to + firstOfOther),
})

/** Rows of a page that no model computed, unlike those of other pages and layers; no sines, since a drill is to be short. */
export const madeUpRows = (bytes: number, salt: number): Uint8Array =>
  new Uint8Array(Float32Array.from({ length: bytes / 4 }, (_, i) => ((i * 29 + salt * 101) % 251) / 251).buffer)
