import { Worker } from 'node:worker_threads'
import { HostError } from '../errors.ts'
import type { Offload } from '../types.ts'
import type { OffloadReply, OffloadRequest } from './offload-thread.ts'

export interface OffloadOptions {
  /** Module that exports `tasks: OffloadTasks`; loaded in the thread. */
  readonly module: URL
  /** A call that runs longer ends with its thread; default 30 s. */
  readonly timeoutMs?: number
  /** Heap of the thread; default 1,024 MB. Running out of it ends the thread, never the process. */
  readonly heapMb?: number
}

export interface StoppableOffload extends Offload {
  /** Ends the thread; calls that wait or run are rejected with `offload_stopped`. */
  stop(): Promise<void>
}

interface Call {
  readonly task: string
  readonly payload: unknown
  readonly transfer: readonly ArrayBuffer[]
  readonly resolve: (value: unknown) => void
  readonly reject: (error: HostError) => void
}

/** One thread, calls in order of arrival. The thread starts with the first call. */
export const createOffload = (options: OffloadOptions): StoppableOffload => {
  const timeoutMs = options.timeoutMs ?? 30_000
  const waiting: Call[] = []
  let thread: Worker | null = null
  let running: { readonly call: Call; readonly timer: NodeJS.Timeout } | null = null
  let stopped = false

  const settle = (): Call | null => {
    const call = running?.call ?? null
    if (running) clearTimeout(running.timer)
    running = null
    return call
  }

  const lose = (which: Worker, error: HostError): void => {
    if (thread !== which) return
    thread = null
    settle()?.reject(error)
    void which.terminate()
    next()
  }

  const start = (): Worker => {
    const worker = new Worker(
      new URL(`./offload-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
      {
        workerData: { module: options.module.href },
        resourceLimits: { maxOldGenerationSizeMb: options.heapMb ?? 1024, stackSizeMb: 4 },
      },
    )
    worker.unref()
    worker.on('message', (reply: OffloadReply) => {
      if (thread !== worker) return
      const call = settle()
      if (reply.kind === 'value') call?.resolve(reply.value)
      else
        call?.reject(new HostError({ code: 'offload_failed', message: `task failed: ${reply.name}`, details: reply }))
      next()
    })
    worker.on('error', (cause) =>
      lose(worker, new HostError({ code: 'offload_failed', message: 'the thread died', cause })),
    )
    worker.on('exit', () => lose(worker, new HostError({ code: 'offload_failed', message: 'the thread ended' })))
    return worker
  }

  const next = (): void => {
    if (running || stopped) return
    const call = waiting.shift()
    if (!call) return
    thread ??= start()
    const worker = thread
    const timer = setTimeout(
      () =>
        lose(worker, new HostError({ code: 'offload_timeout', message: `task ${call.task} ran over ${timeoutMs} ms` })),
      timeoutMs,
    )
    running = { call, timer }
    try {
      worker.postMessage({ task: call.task, payload: call.payload } satisfies OffloadRequest, [...call.transfer])
    } catch (cause) {
      settle()
      call.reject(new HostError({ code: 'offload_failed', message: 'the payload cannot be cloned', cause }))
      next()
    }
  }

  return {
    call: (task, payload, transfer = [], signal) =>
      new Promise((resolve, reject) => {
        const stop = (): HostError => new HostError({ code: 'offload_stopped', message: 'the call was cancelled' })
        if (stopped || signal?.aborted) return reject(stop())
        const call: Call = { task, payload, transfer, resolve, reject }
        waiting.push(call)
        signal?.addEventListener('abort', () => {
          const at = waiting.indexOf(call)
          if (at < 0) return
          waiting.splice(at, 1)
          reject(stop())
        })
        next()
      }),
    stop: async () => {
      stopped = true
      const error = new HostError({ code: 'offload_stopped', message: 'stopped' })
      for (const call of waiting.splice(0)) call.reject(error)
      settle()?.reject(error)
      const worker = thread
      thread = null
      await worker?.terminate()
    },
  }
}
