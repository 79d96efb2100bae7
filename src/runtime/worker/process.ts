/**
 * A worker process. Its main thread owns the pool, the ledger, the state machine and the transfer socket; the
 * forward thread computes. Crash-only: whatever goes wrong that is not one request's fault ends the process, and the
 * supervisor starts the next life with a fresh pool.
 */
import { rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { nodeClock, nodeDigests, nodeRandom } from '../../host/node/index.ts'
import { createPool } from '../../kernels/index.ts'
import { withDrillPages } from '../drills/index.ts'
import { removeStaleSocket } from '../transfer/index.ts'
import { crashReport } from './crash.ts'
import { type ForwardHost, startForward } from './forward-host.ts'
import type { FromWorker, ToWorker, WorkerInit } from './ipc.ts'
import { EXIT_CRASHED, leaveProcess } from './leave.ts'
import { yieldToDecode } from './priority.ts'
import { socketLinks } from './socket-links.ts'
import { linkParty, startWorker, type Worker } from './start.ts'

let worker: Worker | null = null
let forward: ForwardHost | null = null
let init: WorkerInit | null = null
let decodePort: number | null = null

const send = (message: FromWorker): void => {
  if (process.connected) process.send?.(message)
}

const leave = (code: number): void => void leaveProcess(code, forward ? [forward] : [], tidy)

let crashed = false
const crash = (error: unknown): void => {
  // The first is the cause; what follows is the end that it brings.
  if (!crashed) send(crashReport(error))
  crashed = true
  leave(EXIT_CRASHED)
}

/**
 * The last one takes the socket's directory along, however it ends: a gateway that dies while a message is on its way is a
 * crash here and not a parting.
 */
const tidy = (): void => {
  if (init?.role !== 'decode' || init.channel.kind !== 'socket') return
  try {
    removeStaleSocket(init.channel.path)
    // While the gateway lives the next life needs it, and nobody else is to take its name meanwhile.
    if (!process.connected) rmdirSync(dirname(init.channel.path))
  } catch {
    // Another model's socket still stands in it, or the gateway was first.
  }
}

process.on('uncaughtException', crash)
process.on('unhandledRejection', crash)
// A terminal sends its interrupt, and word of its own end, to the whole group; when to end is the gateway's to say.
process.on('SIGINT', () => undefined)
process.on('SIGHUP', () => undefined)
// The gateway is gone or lets go: no worker outlives it.
process.on('disconnect', () => leave(0))

// It may have ended while this module was loading; no event tells of that any more.
if (!process.connected) process.exit(0)

process.on('message', (message: ToWorker) => {
  switch (message.kind) {
    case 'init':
      init = message.init
      decodePort = message.init.decodePort
      begin(message.init).catch(crash)
      return
    case 'message':
      worker?.message(message.message)
      return
    case 'decode_port':
      decodePort = message.port
      return
    case 'drill':
      worker?.drill(message.turn).catch(crash)
      return
    case 'ping':
      send({ kind: 'pong', id: message.id, passMs: worker?.passMs() ?? 0 })
      return
  }
})

const begin = async (given: WorkerInit): Promise<void> => {
  const { channel } = given
  if (channel.kind === 'shared') throw new Error('a process of its own shares no memory')
  const key = new BigUint64Array(nodeRandom.bytes(16).buffer)
  const pool = createPool(withDrillPages(given.shape), key, given.keys.seal)
  forward = startForward(given, pool)
  // What it did to the pool is then unknown.
  forward.thread.on('error', crash)
  forward.ended.then(() => crash(new Error('the forward thread ended')))
  const endpoint = {
    own: linkParty(given),
    linkKey: given.keys.link,
    digests: nodeDigests,
    random: nodeRandom,
    channel,
  }
  worker = await startWorker(given, {
    pool,
    forward: forward.thread,
    links: socketLinks(
      endpoint,
      () => decodePort,
      (port) => send({ kind: 'listening', port }),
    ),
    send,
    fatal: crash,
    yieldToDecode,
    clock: nodeClock,
    digests: nodeDigests,
    random: nodeRandom,
  })
}
