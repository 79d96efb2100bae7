import { createPool } from './create-pool.ts'
import { openPool } from './open-pool.ts'
import type { AttentionSequence, KernelChecks, KernelPageTable, KernelShape, PoolKernels } from './types.ts'

export interface KernelBenchOptions {
  /** Monotonic clock in milliseconds. */
  readonly now: () => number
  /** Query heads, KV heads and head width; the number of layers only spreads the pages. */
  readonly shape: Omit<KernelShape, 'pages'>
  readonly checks?: KernelChecks
  /** Least time per figure, in milliseconds. */
  readonly span?: number
}

export interface AttentionSpeed {
  readonly mode: 'decode' | 'prefill'
  readonly batch: number
  readonly context: number
  /** Milliseconds per call, the median. */
  readonly ms: number
  /** 10^9 multiply-adds per second (scores and values), on one thread. */
  readonly gmacs: number
}

export interface KernelSpeeds {
  readonly attention: readonly AttentionSpeed[]
  /** Bytes of the page that is sealed, and 10^9 bytes per second for seals and for plain copies of the same pages. */
  readonly pageBytes: number
  readonly sealGBs: number
  readonly copyGBs: number
}

const CASES: readonly Pick<AttentionSpeed, 'mode' | 'batch' | 'context'>[] = [
  ...[1, 8].flatMap((batch) => [128, 1024, 4096].map((context) => ({ mode: 'decode', batch, context }) as const)),
  ...[512, 2048].map((context) => ({ mode: 'prefill', batch: 1, context }) as const),
]
/** Rows that a prefill call takes at the end of its context. */
const CHUNK = 256

/** Speed of this thread's kernels: attention of one layer, and seals beside a plain copy. Nothing else runs meanwhile. */
export function benchKernels(options: KernelBenchOptions): KernelSpeeds {
  const { now, checks = { tags: true, filled: true, guards: true }, span = 200 } = options
  const pages = Math.ceil((8 * 4096) / options.shape.pageSize)
  const shape = { ...options.shape, pages }
  const pool = createPool(shape, BigUint64Array.of(1n, 2n))
  const kernels = openPool(pool, { lane: 0, checks, ropeTheta: 10_000, ropeDims: shape.headDim })
  const rows = new Uint8Array(kernels.rowBytes(shape.pageSize))
  const floats = new Float32Array(rows.buffer)
  for (let page = 0; page < pages; page++) {
    for (let i = 0; i < floats.length; i++) floats[i] = Math.sin(page + i * 0.7)
    kernels.writeRows(page, 0, shape.pageSize, rows)
    kernels.markFilled(page, 0, shape.pageSize)
  }
  const median = (call: () => void): number => {
    call()
    const times: number[] = []
    const start = now()
    while (times.length < 5 || now() - start < span) {
      const before = now()
      call()
      times.push(now() - before)
    }
    return times.sort((a, b) => a - b)[times.length >> 1]!
  }

  const attention = CASES.map((scenario): AttentionSpeed => {
    const ms = median(attentionCase(kernels, shape, scenario))
    const news = scenario.mode === 'prefill' ? Math.min(CHUNK, scenario.context) : 1
    const pairs = news * (scenario.context - news) + (news * (news + 1)) / 2
    return { ...scenario, ms, gmacs: (2 * scenario.batch * pairs * shape.heads * shape.headDim) / ms / 1e6 }
  })

  const lineage = new Uint8Array(32).fill(5)
  const round = Math.min(pages, 64)
  const sealed = median(() => {
    for (let page = 0; page < round; page++) kernels.seal(page, 0, shape.pageSize, lineage)
  })
  const copied = median(() => {
    for (let page = 0; page < round; page++) kernels.readRows(page, 0, shape.pageSize, rows)
  })
  const moved = (round * rows.length) / 1e6
  return { attention, pageBytes: rows.length, sealGBs: moved / sealed, copyGBs: moved / copied }
}

/** The last rows of `batch` sequences of this context, recomputed again and again: the same work as appending them. */
function attentionCase(
  kernels: PoolKernels,
  shape: KernelShape,
  { mode, batch, context }: Pick<AttentionSpeed, 'mode' | 'batch' | 'context'>,
): () => void {
  const news = mode === 'prefill' ? Math.min(CHUNK, context) : 1
  const perSequence = Math.ceil(context / shape.pageSize)
  const sequences = Array.from({ length: batch }, (_, i): AttentionSequence => {
    const pages = Uint32Array.from({ length: perSequence }, (_, j) => i * perSequence + j)
    const table: KernelPageTable = {
      pages,
      owners: new Uint32Array(perSequence).fill(i + 1),
      generations: new Uint32Array(perSequence).fill(1),
    }
    kernels.retag(table.pages, table.owners, table.generations, Uint32Array.from(pages.keys()))
    return { table, start: context - news, rows: news, write: 'recompute' }
  })
  const qkv = new Float32Array(batch * news * (shape.heads + 2 * shape.kvHeads) * shape.headDim).fill(0.1)
  const out = new Float32Array(batch * news * shape.heads * shape.headDim)
  return () => {
    const faults = kernels.attention(0, sequences, qkv, out)
    if (faults.length > 0) throw new Error(`the bench's own pages are at fault: ${faults[0]!.kind}`)
  }
}
