import { type KernelShape, LANES, openPool, startCrew } from '../kernels/index.ts'
import { DenseStack } from './dense.ts'
import { invarianceDrill } from './drill.ts'
import { ModelError, refusing } from './errors.ts'
import { PagedForwardPass } from './forward.ts'
import { Fields } from './gguf/fields.ts'
import { loadNotes } from './notes.ts'
import { poolGeometry } from './pool-shape.ts'
import { ropeFrequencies } from './rope.ts'
import { readTokenizer } from './tokenizer-metadata.ts'
import type { LoadedModel, LoadOptions, LoadResult, ModelShape } from './types.ts'
import { EmbeddingTable } from './weights/embedding.ts'
import { openSource, type WeightsSource } from './weights/source.ts'

/**
 * Opens a model file, judges it, and builds the forward pass over a pool. Weights are streamed: at the peak the process
 * holds what it keeps and one stage more. Call it in the thread that will run the pass.
 */
export function loadModel(path: string, options: LoadOptions): Promise<LoadResult> {
  return refusing(async () => {
    const source = openSource(path)
    try {
      return await load(source, options)
    } finally {
      source.close()
    }
  })
}

async function load(source: WeightsSource, options: LoadOptions): Promise<LoadedModel> {
  const { header, layout, digest } = source
  const { shape } = layout
  const fields = new Fields(header.metadata)
  if (options.expectDigest !== undefined && options.expectDigest !== digest) {
    throw new ModelError({
      code: 'wrong_weights',
      message: `${source.path} has changed: its digest is ${digest}, expected ${options.expectDigest}`,
      details: { digest, expected: options.expectDigest },
    })
  }
  readTokenizer(fields, shape.vocab)
  expectPool(shape, options.pool.shape)
  const { pool, checks, threads, lane = 0, helperLane = LANES - 1 } = options
  const kernels = openPool(pool, {
    lane,
    checks,
    ropeTheta: shape.ropeTheta,
    ropeDims: shape.ropeDims,
    frequencies: ropeFrequencies(source),
    positions: Math.min(shape.contextLength, pool.shape.pages * pool.shape.pageSize),
  })
  const dense = await DenseStack.load(source, threads)
  const embedding = new EmbeddingTable(source, layout.tensors.embedding)
  // ONNX Runtime's second thread and the attention's helper never work at the same time: two threads in all.
  const crew = threads > 1 ? startCrew(pool, { lane, helperLane, ropeDims: shape.ropeDims }) : null
  await crew?.ready
  const pass = new PagedForwardPass({
    shape,
    embedding,
    dense,
    kernels,
    pageSize: pool.shape.pageSize,
    sampler: options.sampler,
    close: async () => {
      await crew?.close()
      await dense.close()
    },
  })
  const invariance = invarianceDrill(dense, shape)
  return {
    kind: 'ok',
    pass,
    digest,
    notes: loadNotes(layout.tensors, fields),
    kernels,
    drill: invariance.full,
    drillAgain: invariance.again,
    over: (others, pageSize) =>
      new PagedForwardPass({
        shape,
        embedding,
        dense,
        kernels: others,
        pageSize,
        sampler: options.sampler,
        close: async () => undefined,
      }),
  }
}

function expectPool(shape: ModelShape, pool: KernelShape): void {
  const wanted = { ...poolGeometry(shape, pool.pageSize), pages: pool.pages }
  const wrong = (Object.keys(wanted) as (keyof KernelShape)[]).find((key) => wanted[key] !== pool[key])
  if (wrong === undefined) return
  throw new ModelError({
    code: 'wrong_pool',
    message: `the pool has ${wrong} ${pool[wrong]}, the model ${wanted[wrong]}`,
    details: { field: wrong, pool: pool[wrong], model: wanted[wrong] },
  })
}
