import { parentPort, workerData } from 'node:worker_threads'
import type { OffloadTasks } from '../types.ts'

export interface OffloadRequest {
  readonly task: string
  readonly payload: unknown
}

export type OffloadReply =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly name: string; readonly message: string; readonly code: string | null }

const port = parentPort
if (!port) throw new Error('this module is a worker thread')
const loading = import((workerData as { module: string }).module) as Promise<{ tasks: OffloadTasks }>
// A module that does not load is the answer to each call, not an unhandled rejection before the first.
loading.catch(() => undefined)

port.on('message', (request: OffloadRequest) => {
  void answer(request).then((reply) => port.postMessage(reply))
})

const answer = async (request: OffloadRequest): Promise<OffloadReply> => {
  try {
    const { tasks } = await loading
    const task = Object.hasOwn(tasks, request.task) ? tasks[request.task] : undefined
    if (!task) return { kind: 'error', name: 'RangeError', message: `no task ${request.task}`, code: 'unknown_task' }
    return { kind: 'value', value: await task(request.payload as never) }
  } catch (error) {
    const { name, message, code } = error as { name?: string; message?: string; code?: unknown }
    return {
      kind: 'error',
      name: name ?? 'Error',
      message: message ?? '',
      code: typeof code === 'string' ? code : null,
    }
  }
}
