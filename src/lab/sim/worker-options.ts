import type { WorkerOptions } from '../../cluster/index.ts'
import type { SimContext } from './context.ts'
import { simCrypto } from './crypto.ts'

/** What both workers are told when a life of theirs begins. */
export const workerOptions = (
  { settings, fences, coverage }: SimContext,
  epoch: number,
  pages: number,
): WorkerOptions => ({
  model: 'sim',
  weights: 'w',
  epoch,
  shape: { pages, pageSize: settings.pageSize, layers: settings.layers, kvHeads: 1, headDim: 1 },
  fences,
  crypto: simCrypto,
  scrub: 'tags',
  transport: settings.transport,
  sweepEvery: settings.sweepEvery,
  watch: coverage.watch,
})
