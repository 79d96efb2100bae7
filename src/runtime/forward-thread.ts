/** Entry of a worker's forward thread: the model and its passes, and nothing else. One pass at a time. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { sample } from '../engine/index.ts'
import type { KernelChecks, PoolMemory } from '../kernels/index.ts'
import { type DrillResult, type ForwardPlan, type ForwardResult, type LoadedModel, loadModel } from '../model/index.ts'
import { type DrillFinding, drillForward, invarianceFinding } from './drills/index.ts'
import { yieldThisThread } from './worker/priority.ts'

export interface ForwardInit {
  readonly weights: string
  readonly digest: string
  readonly pool: PoolMemory
  readonly checks: KernelChecks
  readonly threads: number
  /** First of the pages that this thread drills on; behind those of the ledger. */
  readonly drillPage: number
  /** One word of shared memory: no longer 0 once this thread is to end, and then at its next layer. */
  readonly ending: Int32Array
  /** Where passes are asked for; absent: by the thread's parent. */
  readonly port?: MessagePort
}

export type ToForward =
  | { readonly kind: 'pass'; readonly plan: ForwardPlan }
  | { readonly kind: 'drill'; readonly turn: number }
  /** Let others go first from now on. */
  | { readonly kind: 'yield' }

/** From the thread's parent: end, as soon as nothing runs. */
export interface EndForward {
  readonly kind: 'end'
}

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

/** How long the process's main thread has to notice that the gateway has gone. */
const ORPHAN_MS = 2_000

const parent = parentPort
if (!parent) throw new Error('this module is a worker thread')
const init = workerData as ForwardInit
const port = init.port ?? parent
const say = (message: FromForward): void => port.postMessage(message)

/** A pass was stopped on the way, because the thread is to end. */
class Stopped extends Error {}

const isEnding = (): boolean => Atomics.load(init.ending, 0) !== 0

const gateway = process.ppid
let orphanedAt: number | null = null
/** No worker outlives its gateway, even if its main thread hangs or is starved: its forward thread then ends the process. */
const endIfOrphaned = (): void => {
  if (process.ppid === gateway) return
  orphanedAt ??= performance.now()
  if (performance.now() - orphanedAt > ORPHAN_MS) process.kill(process.pid, 'SIGKILL')
}
// Between passes; in a long one each layer looks.
setInterval(endIfOrphaned, ORPHAN_MS / 4).unref()

const run = async ({ pass }: LoadedModel, plan: ForwardPlan): Promise<void> => {
  const started = performance.now()
  const result = await pass.run(plan, (layer) => {
    if (isEnding()) throw new Stopped()
    endIfOrphaned()
    say({ kind: 'layer', planId: plan.id, layer })
  })
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

/** What this thread still has to do before it may end: inside ONNX Runtime it must not be ended from outside. */
let last: Promise<void> = Promise.resolve()
let loaded: LoadedModel | null = null

const leave = async (): Promise<void> => {
  await last.catch(() => undefined)
  await loaded?.pass.close()
  process.exit(0)
}
parent.on('message', (message: ToForward | EndForward) => {
  if (message.kind === 'end') void leave()
})

const load = async (): Promise<void> => {
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
    return
  }
  loaded = model
  const arithmetic = await model.drill()
  const findings = await drill(model, 0, arithmetic)
  // One thing at a time, in order. What throws is not a fault of one sequence: the error ends the thread, and with it the worker.
  port.on('message', (message: ToForward | EndForward) => {
    if (message.kind !== 'end') last = last.then(() => begin(model, message))
  })
  say({ kind: 'loaded', notes: model.notes, drill: arithmetic, findings })
}

const begin = async (model: LoadedModel, message: ToForward): Promise<void> => {
  if (isEnding()) return
  switch (message.kind) {
    case 'pass':
      try {
        await run(model, message.plan)
      } catch (error) {
        if (!(error instanceof Stopped)) throw error
      }
      return
    case 'drill': {
      const { turn } = message
      say({ kind: 'drilled', turn, findings: await drill(model, turn, await model.drillAgain(turn)) })
      return
    }
    case 'yield':
      yieldThisThread()
      return
  }
}

last = load()
