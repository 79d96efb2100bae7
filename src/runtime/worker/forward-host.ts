import { type MessagePort, Worker } from 'node:worker_threads'
import { fullFences } from '../../cluster/index.ts'
import type { PoolMemory } from '../../kernels/index.ts'
import { drillPages } from '../drills/index.ts'
import type { EndForward, ForwardInit } from '../forward-thread.ts'
import type { WorkerInit } from './ipc.ts'

/** The thread that computes, as seen by the thread that started it. */
export interface ForwardHost {
  readonly thread: Worker
  /** Resolves when it is known ended. */
  readonly ended: Promise<void>
  /**
   * Asks it to end, which it does once what runs is over, a pass at its next layer. False if it has not by then: a thread
   * inside ONNX Runtime cannot be ended from outside without aborting the process, so only the process's end is left.
   */
  end(limitMs: number): Promise<boolean>
}

/** Starts a worker's forward thread and, in it, the loading of the model. `port`: where passes are asked for, if not by this thread. */
export const startForward = (init: WorkerInit, pool: PoolMemory, port?: MessagePort): ForwardHost => {
  const ending = new Int32Array(new SharedArrayBuffer(4))
  const { weights, digest, threads } = init
  const workerData: ForwardInit = {
    weights,
    digest,
    pool,
    checks: fullFences(init.integrity).kernel,
    threads,
    drillPage: drillPages(init.shape).forward,
    ending,
    ...(port && { port }),
  }
  const thread = new Worker(new URL('../forward-thread.js', import.meta.url), {
    workerData,
    ...(port && { transferList: [port] }),
  })
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  return {
    thread,
    ended,
    end: async (limitMs) => {
      Atomics.store(ending, 0, 1)
      thread.postMessage({ kind: 'end' } satisfies EndForward)
      return await within(ended, limitMs)
    },
  }
}

const within = async (done: Promise<void>, limitMs: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs)
  })
  const inTime = await Promise.race([done.then(() => true), late])
  clearTimeout(timer)
  return inTime
}
