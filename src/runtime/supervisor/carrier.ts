import { type ChildProcess, fork } from 'node:child_process'
import type { ToHost } from '../shared/messages.ts'
import type { FromWorker, ToWorker, WorkerInit } from '../worker/ipc.ts'

/** What a worker's life says of itself, and its end: once, and nothing after it. */
export interface LifeEvents {
  message(message: FromWorker): void
  /** Every thread of it is known ended. */
  ended(how: string): void
}

/** One life of a worker, wherever it runs. */
export interface Life {
  readonly pid: number | null
  send(message: ToWorker): void
  /** Ends it now. */
  kill(reason: string): void
  /** Lets it end by itself, which it does soon. */
  stop(): void
}

/** Begins lives. `ended` is never called from inside `begin`. */
export interface Carrier {
  begin(init: WorkerInit, events: LifeEvents): Life
}

// What a worker needs to find its libraries; whatever secret stands in the environment stays in the gateway.
const ENVIRONMENT = [
  'PATH',
  'HOME',
  'TMPDIR',
  'TEMP',
  'TMP',
  'LANG',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'SystemRoot',
]

/** A thread can't say it for itself, see `model/no-telemetry.ts`. */
const SILENT = { ORT_DISABLE_TELEMETRY: '1' }

/** Starts a process with a channel to this one. `ended` is called once, when it is known ended or could not be started. */
export const forkProcess = (module: URL, args: readonly string[], ended: (how: string) => void): ChildProcess => {
  const child = fork(module, args, {
    serialization: 'advanced',
    // Standard output belongs to the command that serves; a worker has nothing to say there.
    stdio: ['ignore', 2, 2, 'ipc'],
    execArgv: [],
    env: {
      ...Object.fromEntries(ENVIRONMENT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
      ...SILENT,
    },
  })
  child.on('error', (error) => {
    // Without a process there will be no exit; with one, the exit is what counts.
    if (child.pid === undefined) ended(`cannot run: ${error.message}`)
    else child.kill('SIGKILL')
  })
  child.on('exit', (code, signal) => ended(signal ? `killed by ${signal}` : `exited with ${code}`))
  return child
}

export const tellProcess = (child: ChildProcess, message: ToWorker | ToHost): void => {
  if (!child.connected) return
  // A process that has just ended shows as an error here before its exit is seen; the exit is what counts.
  child.send(message, () => undefined)
}

/** Asks a process to end: it does when its channel closes. */
export const letGo = (child: ChildProcess): void => {
  if (child.connected) child.disconnect()
}

/** A process for each life of a worker. */
export const ownProcess = (module: URL): Carrier => ({
  begin: (init, events) => {
    const child = forkProcess(module, [init.role, init.model], events.ended)
    child.on('message', (message: FromWorker) => events.message(message))
    tellProcess(child, { kind: 'init', init })
    return {
      pid: child.pid ?? null,
      send: (message) => tellProcess(child, message),
      kill: () => void child.kill('SIGKILL'),
      stop: () => letGo(child),
    }
  },
})
