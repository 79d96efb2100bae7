import { Worker } from 'node:worker_threads'
import { instanceSettings, laneAt } from './configure.ts'
import { KernelsError } from './errors.ts'
import { CREW_HERE, CREW_STATE, LANES, poolLayout } from './layout.ts'
import { kernelModule } from './module.ts'
import { rotaryFloats } from './rotary.ts'
import type { PoolMemory, PoolOptions } from './types.ts'

const STOP = 4

/**
 * The helper thread's whole program. It is a string because the same text then runs from `src` and from `dist`, and because the
 * thread needs nothing but the compiled module and the memory.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads')
const { module, memory, settings, state, here, job } = workerData
const { exports } = new WebAssembly.Instance(module, { env: { memory } })
exports.configure(...settings.configure)
exports.useScratch(...settings.useScratch)
const words = new Int32Array(memory.buffer)
Atomics.store(words, here / 4, 1)
parentPort.postMessage('here')
exports.serve(state, job)
`

export interface CrewOptions extends Pick<PoolOptions, 'ropeDims'> {
  /** The lane of the instance that is helped. */
  readonly lane: number
  /** A lane that nobody else uses, for the helper. */
  readonly helperLane: number
}

/** A second thread for one instance's attention calls. */
export interface AttentionCrew {
  /** Resolves when the helper can take work; attention is right before that too, on one thread. Rejects if it cannot start. */
  readonly ready: Promise<void>
  /** Whether the helper is there. */
  active(): boolean
  /** Sends the helper home and resolves when its thread has ended. Called by the thread that owns the lane, between calls. */
  close(): Promise<void>
}

/**
 * Starts a helper thread for the instance on `lane`: large attention calls are then shared with it, item by item, and give the
 * same bits. Once it is ready, the helper does not keep its owner's thread alive; it always ends with it.
 */
export function startCrew(pool: PoolMemory, options: CrewOptions): AttentionCrew {
  const { lane, helperLane, ropeDims } = options
  const valid = [lane, helperLane].every((n) => Number.isInteger(n) && n >= 0 && n < LANES) && lane !== helperLane
  if (!valid) {
    throw new KernelsError({
      code: 'bad_call',
      message: `lanes ${lane} and ${helperLane} are not two of 0 to ${LANES - 1}`,
    })
  }
  const layout = poolLayout(pool.shape, pool.base)
  const start = laneAt(layout, lane)
  const words = new Int32Array(pool.memory.buffer)
  const state = (start + CREW_STATE) / 4
  const here = (start + CREW_HERE) / 4
  Atomics.store(words, state, 0)
  // A helper that was ended from outside left its mark.
  Atomics.store(words, here, 0)
  const worker = new Worker(PROGRAM, {
    eval: true,
    execArgv: [],
    name: 'bulkhead-attention',
    workerData: {
      module: kernelModule(),
      memory: pool.memory,
      settings: instanceSettings(pool, layout, helperLane, rotaryFloats(ropeDims)),
      state: start + CREW_STATE,
      here: start + CREW_HERE,
      job: start,
    },
  })
  const gone = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      Atomics.store(words, here, 0)
      resolve()
    })
  })
  const ready = new Promise<void>((resolve, reject) => {
    worker.once('message', () => {
      worker.unref()
      resolve()
    })
    worker.on('error', (cause) => {
      reject(new KernelsError({ code: 'helper_failed', message: 'the attention helper thread failed', cause }))
    })
    gone.then(() => reject(new KernelsError({ code: 'helper_failed', message: 'the attention helper thread ended' })))
  })
  // Whoever does not wait for `ready` loses nothing by a failure but speed.
  ready.catch(() => undefined)
  return {
    ready,
    active: () => Atomics.load(words, here) === 1,
    async close() {
      // Whoever waits for the end must not be ended first.
      worker.ref()
      Atomics.store(words, here, 0)
      Atomics.store(words, state, STOP)
      Atomics.notify(words, state)
      await gone
    },
  }
}
