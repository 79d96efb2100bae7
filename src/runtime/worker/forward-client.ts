import { Worker } from 'node:worker_threads'
import type { KernelChecks, PoolMemory } from '../../kernels/index.ts'
import type { DrillResult, ForwardPlan } from '../../model/index.ts'
import type { DrillFinding } from '../drills/index.ts'
import { RuntimeError } from '../errors.ts'
import type { ForwardInit, FromForward, ToForward } from '../forward-thread.ts'
import type { ForwardReports } from './ports.ts'

export interface ForwardOptions {
  readonly weights: string
  readonly digest: string
  readonly pool: PoolMemory
  readonly checks: KernelChecks
  readonly threads: number
  readonly drillPage: number
}

export interface ForwardThread {
  readonly notes: readonly string[]
  readonly drill: DrillResult
  /** What the thread's detectors did in their start-up drill. */
  readonly findings: readonly DrillFinding[]
  /** Drills them again, after what waits already. */
  drillAgain(turn: number): Promise<readonly DrillFinding[]>
  run(plan: ForwardPlan): void
  /** Milliseconds the pass now running has been running; 0 if none is. */
  passMs(): number
}

/**
 * Starts the thread that computes and loads the model in it. Rejects with `model_unusable`, the model's own line as message.
 * `fatal` is called when the thread ends or fails later: what it did to the pool is then unknown, so the process must end.
 */
export const startForwardThread = (
  options: ForwardOptions,
  reports: () => ForwardReports,
  now: () => number,
  fatal: (error: Error) => void,
): Promise<ForwardThread> =>
  new Promise((resolve, reject) => {
    const workerData: ForwardInit = options
    const thread = new Worker(new URL('../forward-thread.js', import.meta.url), { workerData })
    let loaded = false
    let since: number | null = null
    const drills = new Map<number, (findings: readonly DrillFinding[]) => void>()
    const tell = (message: ToForward): void => thread.postMessage(message)
    const end = (error: Error): void => (loaded ? fatal(error) : reject(error))
    thread.on('error', end)
    thread.on('exit', (code) => end(new Error(`the forward thread ended with ${code}`)))
    thread.on('message', (message: FromForward) => {
      switch (message.kind) {
        case 'loaded':
          loaded = true
          resolve({
            notes: message.notes,
            drill: message.drill,
            findings: message.findings,
            drillAgain: (turn) =>
              new Promise((drilled) => {
                drills.set(turn, drilled)
                tell({ kind: 'drill', turn })
              }),
            run: (plan) => {
              since = now()
              tell({ kind: 'pass', plan })
            },
            passMs: () => (since === null ? 0 : now() - since),
          })
          return
        case 'refused':
          reject(
            new RuntimeError({ code: 'model_unusable', message: message.message, details: { code: message.code } }),
          )
          return
        case 'drilled':
          drills.get(message.turn)?.(message.findings)
          drills.delete(message.turn)
          return
        case 'layer':
          reports().layerDone(message.planId, message.layer)
          return
        case 'done':
          since = null
          reports().forwardDone(message.result, message.seconds)
          return
      }
    })
  })
