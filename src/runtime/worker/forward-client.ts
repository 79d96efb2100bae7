import type { DrillResult, ForwardPlan } from '../../model/index.ts'
import type { DrillFinding } from '../drills/index.ts'
import { RuntimeError } from '../errors.ts'
import type { FromForward, ToForward } from '../forward-thread.ts'
import type { ForwardReports } from './ports.ts'

/** Either the thread itself or a port to it. */
export interface ForwardChannel {
  postMessage(message: ToForward): void
  on(event: 'message', listener: (message: FromForward) => void): unknown
}

export interface ForwardThread {
  readonly notes: readonly string[]
  readonly drill: DrillResult
  /** What the thread's detectors did in their start-up drill. */
  readonly findings: readonly DrillFinding[]
  /** Drills them again, after what waits already. */
  drillAgain(turn: number): Promise<readonly DrillFinding[]>
  run(plan: ForwardPlan): void
  /** Lets the threads of others go first from now on. */
  yield(): void
  /** Milliseconds the pass now running has been running; 0 if none is. */
  passMs(): number
}

/**
 * Resolves when the thread that computes has loaded the model. Rejects with `model_unusable`, the model's own line as message.
 * That the thread ends is for its host to notice: what it did to the pool is then unknown.
 */
export const connectForward = (
  thread: ForwardChannel,
  reports: () => ForwardReports,
  now: () => number,
): Promise<ForwardThread> =>
  new Promise((resolve, reject) => {
    let since: number | null = null
    const drills = new Map<number, (findings: readonly DrillFinding[]) => void>()
    thread.on('message', (message) => {
      switch (message.kind) {
        case 'loaded':
          resolve({
            notes: message.notes,
            drill: message.drill,
            findings: message.findings,
            drillAgain: (turn) =>
              new Promise((drilled) => {
                drills.set(turn, drilled)
                thread.postMessage({ kind: 'drill', turn })
              }),
            run: (plan) => {
              since = now()
              thread.postMessage({ kind: 'pass', plan })
            },
            yield: () => thread.postMessage({ kind: 'yield' }),
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
