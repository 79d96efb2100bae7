import { readFileSync } from 'node:fs'

/** What assembly/index.ts exports. Addresses and counts are unsigned 32-bit; WebAssembly wraps what is handed in. */
export interface KernelExports {
  configure(
    pages: number,
    pageSize: number,
    layers: number,
    heads: number,
    kvHeads: number,
    headDim: number,
    tags: number,
    filled: number,
    blocks: number,
    key0: bigint,
    key1: bigint,
    ropeFloats: number,
    queryScale: number,
  ): void
  claimPage(page: number, owner: number, generation: number, ordinal: number, keepRows: number): void
  retirePage(page: number, fill: number): void
  copyPage(from: number, to: number, rows: number): void
  scanGuards(pages: number, owners: number, generations: number, count: number, firstOrdinal: number): number
  useScratch(at: number, queries: number): void
  plan(
    job: number,
    slices: number,
    count: number,
    layer: number,
    checks: number,
    items: number,
    rowsPerItem: number,
  ): number
  work(job: number): void
  share(state: number, job: number): void
  seal(
    data: number,
    bytes: number,
    nhKey: number,
    lineage: number,
    header0: number,
    header1: number,
    header2: number,
    header3: number,
    out: number,
  ): void
}

let compiled: WebAssembly.Module | undefined

/** The kernels' module, compiled once per thread from the file beside this one. */
export function kernelModule(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('./kernels.wasm', import.meta.url)))
  return compiled
}

export function instantiate(memory: WebAssembly.Memory): KernelExports {
  return new WebAssembly.Instance(kernelModule(), { env: { memory } }).exports as unknown as KernelExports
}
