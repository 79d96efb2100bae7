/** The process of a model whose workers share a memory: its main thread only passes messages on and watches threads end. */
import { Worker } from 'node:worker_threads'
import { nodeRandom } from '../../host/node/index.ts'
import { crashReport } from '../worker/crash.ts'
import { startForward } from '../worker/forward-host.ts'
import { EXIT_CRASHED, leaveProcess } from '../worker/leave.ts'
import { SharedHost } from './host.ts'
import type { FromHost, RoleInit, ToHost } from './messages.ts'

const send = (message: FromHost): void => {
  if (process.connected) process.send?.(message)
}
const die = (): void => void process.kill(process.pid, 'SIGKILL')

const startRole = (workerData: RoleInit): Worker =>
  new Worker(new URL('../role-thread.js', import.meta.url), {
    workerData,
    transferList: [workerData.forward, ...(workerData.link === null ? [] : [workerData.link])],
  })

const host = new SharedHost({
  threads: { role: startRole, forward: startForward },
  random: nodeRandom,
  send,
  leave: (code, forwards) => void leaveProcess(code, forwards),
  die,
})

const crash = (error: unknown): void => {
  send({ kind: 'from', role: 'decode', message: crashReport(error) })
  host.leave(EXIT_CRASHED)
}
process.on('uncaughtException', crash)
process.on('unhandledRejection', crash)
// A terminal sends its interrupt, and word of its own end, to the whole group; when to end is the gateway's to say.
process.on('SIGINT', () => undefined)
process.on('SIGHUP', () => undefined)
// The gateway is gone or lets go: nothing here outlives it.
process.on('disconnect', () => host.leave(0))
// It may have ended while this module was loading; no event tells of that any more.
if (!process.connected) process.exit(0)
process.on('message', (message: ToHost) => host.hear(message))
