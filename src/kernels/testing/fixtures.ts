import { createHash } from 'node:crypto'
import { createPool } from '../create-pool.ts'
import { openPool } from '../open-pool.ts'
import type {
  AttentionSequence,
  KernelChecks,
  KernelPageTable,
  KernelShape,
  PoolKernels,
  PoolMemory,
} from '../types.ts'

export const ALL_CHECKS: KernelChecks = { tags: true, filled: true, guards: true }
export const NO_CHECKS: KernelChecks = { tags: false, filled: false, guards: false, finite: false }
export const THETA = 10_000

/** Reproducible floats in (-1, 1) (mulberry32). */
export function randomFloats(seed: number): (length: number) => Float32Array {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1
  }
  return (length) => Float32Array.from({ length }, next)
}

export function shapeOf(shape: Partial<KernelShape>): KernelShape {
  return { pages: 64, pageSize: 16, layers: 1, heads: 4, kvHeads: 2, headDim: 64, ...shape }
}

export function testPool(shape: KernelShape, seed = 1n): PoolMemory {
  return createPool(shape, BigUint64Array.of(0x1234_5678_9abc_def0n + seed, 0x0fed_cba9_8765_4321n ^ seed))
}

export function testKernels(pool: PoolMemory, checks: KernelChecks = ALL_CHECKS, lane = 0): PoolKernels {
  return openPool(pool, { lane, checks, ropeTheta: THETA, ropeDims: Math.floor(pool.shape.headDim / 4) * 4 })
}

/** Claims these pages for `owner` as one table in this order. */
export function claimTable(
  kernels: PoolKernels,
  pages: readonly number[],
  owner: number,
  generation = 1,
): KernelPageTable {
  const table = {
    pages: Uint32Array.from(pages),
    owners: new Uint32Array(pages.length).fill(owner),
    generations: new Uint32Array(pages.length).fill(generation),
  }
  kernels.claim(table.pages, table.owners, table.generations, Uint32Array.from(pages.keys()))
  return table
}

/** A run of pages that are not neighbours and not in order, `count` from `first` in steps of `step`. */
export function scatter(first: number, count: number, step: number): number[] {
  return Array.from({ length: count }, (_, i) => first + step * (count - 1 - i))
}

export const qkvWidth = (shape: KernelShape): number => (shape.heads + 2 * shape.kvHeads) * shape.headDim
export const outWidth = (shape: KernelShape): number => shape.heads * shape.headDim

export function append(table: KernelPageTable, start: number, rows: number): AttentionSequence {
  return { table, start, rows, write: 'append' }
}

/** Digest of the exact bits, for comparisons that `toEqual` on floats would soften (-0 and 0, NaN). */
export function bits(...parts: readonly Float32Array[]): string {
  const hash = createHash('sha256')
  for (const floats of parts) hash.update(Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength))
  return hash.digest('hex')
}

/** Feeds a sequence in chunks of the given sizes; returns the outputs of all rows. Throws on a fault. */
export function feed(
  kernels: PoolKernels,
  shape: KernelShape,
  table: KernelPageTable,
  qkv: Float32Array,
  chunks: readonly number[],
  layer = 0,
): Float32Array {
  const rows = qkv.length / qkvWidth(shape)
  const out = new Float32Array(rows * outWidth(shape))
  let start = 0
  for (const chunk of chunks) {
    const faults = kernels.attention(
      layer,
      [append(table, start, chunk)],
      qkv.subarray(start * qkvWidth(shape), (start + chunk) * qkvWidth(shape)),
      out.subarray(start * outWidth(shape), (start + chunk) * outWidth(shape)),
    )
    if (faults.length > 0) throw new Error(`fault ${faults[0]!.kind} on page ${faults[0]!.page}`)
    start += chunk
  }
  return out
}
