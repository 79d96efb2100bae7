/**
 * A role's thread in a process that hosts both: ledger, state machine, stores. It may be ended at any moment, in the middle of a
 * copy too; the forward thread is therefore not its child but the host's.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { nodeClock, nodeDigests, nodeRandom } from '../../host/node/index.ts'
import { openNeighbour } from '../../kernels/index.ts'
import { crashReport } from '../worker/crash.ts'
import { EXIT_CRASHED } from '../worker/leave.ts'
import type { Links } from '../worker/links.ts'
import { yieldThisThread } from '../worker/priority.ts'
import { startWorker, type Worker } from '../worker/start.ts'
import { decodeLink, type PrefillLives, prefillLink } from './links.ts'
import type { FromRole, LinkChange, RoleInit, ToRole } from './messages.ts'
import { retireAll } from './retire-all.ts'

const host = parentPort
if (!host) throw new Error('this module is a worker thread')
const { init, pools, used, forward, link } = workerData as RoleInit
const send = (message: FromRole): void => host.postMessage(message)

const crash = (error: unknown): void => {
  send(crashReport(error))
  process.exit(EXIT_CRASHED)
}
process.on('uncaughtException', crash)
process.on('unhandledRejection', crash)

let worker: Worker | null = null
/** Of prefill's lives, until decode's model is loaded and somebody listens. */
const early: LinkChange[] = []
let changed = (change: LinkChange): void => void early.push(change)

host.on('message', (message: ToRole) => {
  switch (message.kind) {
    case 'message':
      worker?.message(message.message)
      return
    case 'drill':
      worker?.drill(message.turn).catch(crash)
      return
    case 'ping':
      send({ kind: 'pong', id: message.id, passMs: worker?.passMs() ?? 0 })
      return
    case 'link':
    case 'link_down':
      changed(message)
      return
  }
})

const prefillLives: PrefillLives = {
  listen: (listener) => {
    changed = listener
    for (const change of early.splice(0)) listener(change)
  },
  end: (life, reason) => send({ kind: 'cut', life, reason }),
}

const linksOver = (port: MessagePort | null): Links => ({
  prefill: (events) => prefillLink(port!)(events),
  decode: decodeLink(prefillLives),
})

const begin = async (): Promise<void> => {
  if (used) retireAll(pools[init.role], init.shape.pages, init.scrub)
  const yieldToDecode = (): void => {
    yieldThisThread()
    forward.postMessage({ kind: 'yield' })
  }
  worker = await startWorker(init, {
    pool: pools[init.role],
    ...(init.role === 'prefill' && { neighbour: openNeighbour(pools.prefill, pools.decode) }),
    forward,
    links: linksOver(link),
    clock: nodeClock,
    digests: nodeDigests,
    random: nodeRandom,
    send,
    fatal: crash,
    yieldToDecode,
  })
}
begin().catch(crash)
