/** Entry of a worker's forward thread: the model and its passes, and nothing else. One pass at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import { sample } from '../engine/index.ts'
import type { KernelChecks, PoolMemory } from '../kernels/index.ts'
import { type DrillResult, type ForwardPlan, type ForwardResult, loadModel } from '../model/index.ts'

export interface ForwardInit {
  readonly weights: string
  readonly digest: string
  readonly pool: PoolMemory
  readonly checks: KernelChecks
  readonly threads: number
}

export type FromForward =
  | { readonly kind: 'loaded'; readonly notes: readonly string[]; readonly drill: DrillResult }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'layer'; readonly planId: number; readonly layer: number }
  | { readonly kind: 'done'; readonly result: ForwardResult; readonly seconds: number }

const port = parentPort
if (!port) throw new Error('this module is a worker thread')
const say = (message: FromForward): void => port.postMessage(message)

const init = workerData as ForwardInit
const model = await loadModel(init.weights, {
  threads: init.threads,
  sampler: sample,
  pool: init.pool,
  // The main thread's instance has the lane before.
  lane: 1,
  checks: init.checks,
  expectDigest: init.digest,
})

if (model.kind !== 'ok') {
  say({ kind: 'refused', code: model.code, message: model.message })
} else {
  const { pass } = model
  port.on('message', (plan: ForwardPlan) => {
    const started = performance.now()
    // A pass that throws is not a fault of one sequence: the error ends the thread, and with it the process.
    void pass
      .run(plan, (layer) => say({ kind: 'layer', planId: plan.id, layer }))
      .then((result) => say({ kind: 'done', result, seconds: (performance.now() - started) / 1000 }))
  })
  say({ kind: 'loaded', notes: model.notes, drill: await model.drill() })
}
