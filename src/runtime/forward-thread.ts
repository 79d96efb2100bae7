/** Entry of a worker's forward thread: the model and its passes, and nothing else. One pass at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import { sample } from '../engine/index.ts'
import type { KernelChecks, PoolMemory } from '../kernels/index.ts'
import { type DrillResult, type ForwardPlan, type ForwardResult, type LoadedModel, loadModel } from '../model/index.ts'
import { type DrillFinding, drillForward, invarianceFinding } from './drills/index.ts'

export interface ForwardInit {
  readonly weights: string
  readonly digest: string
  readonly pool: PoolMemory
  readonly checks: KernelChecks
  readonly threads: number
  /** First of the pages that this thread drills on; behind those of the ledger. */
  readonly drillPage: number
}

export type ToForward =
  | { readonly kind: 'pass'; readonly plan: ForwardPlan }
  | { readonly kind: 'drill'; readonly turn: number }

export type FromForward =
  | {
      readonly kind: 'loaded'
      readonly notes: readonly string[]
      readonly drill: DrillResult
      readonly findings: readonly DrillFinding[]
    }
  | { readonly kind: 'drilled'; readonly turn: number; readonly findings: readonly DrillFinding[] }
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

const run = async ({ pass }: LoadedModel, plan: ForwardPlan): Promise<void> => {
  const started = performance.now()
  const result = await pass.run(plan, (layer) => say({ kind: 'layer', planId: plan.id, layer }))
  say({ kind: 'done', result, seconds: (performance.now() - started) / 1000 })
}

const drill = async (
  { pass, kernels }: LoadedModel,
  turn: number,
  arithmetic: DrillResult,
): Promise<DrillFinding[]> => [
  ...(await drillForward({ pass, kernels, firstPage: init.drillPage }, turn)),
  invarianceFinding(arithmetic),
]

if (model.kind !== 'ok') {
  say({ kind: 'refused', code: model.code, message: model.message })
} else {
  const arithmetic = await model.drill()
  const findings = await drill(model, 0, arithmetic)
  // One thing at a time, in order. What throws is not a fault of one sequence: the error ends the thread, and with it the process.
  let last = Promise.resolve()
  const begin = async (message: ToForward): Promise<void> => {
    if (message.kind === 'pass') return run(model, message.plan)
    const { turn } = message
    say({ kind: 'drilled', turn, findings: await drill(model, turn, await model.drillAgain(turn)) })
  }
  port.on('message', (message: ToForward) => {
    last = last.then(() => begin(message))
  })
  say({ kind: 'loaded', notes: model.notes, drill: arithmetic, findings })
}
