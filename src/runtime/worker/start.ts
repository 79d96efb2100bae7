import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  fullFences,
  type RouterToDecode,
  type RouterToPrefill,
  type Transport,
  type WorkerOptions,
} from '../../cluster/index.ts'
import type { Clock, DigestTools, Random } from '../../host/index.ts'
import { type NeighbourPool, openNeighbour, openPool, type PoolMemory } from '../../kernels/index.ts'
import { workerDrills } from '../drills/index.ts'
import type { LinkParty } from '../transfer/index.ts'
import { startDecode } from './decode-worker.ts'
import { connectForward, type ForwardChannel } from './forward-client.ts'
import type { FromWorker, WorkerInit } from './ipc.ts'
import type { Links } from './links.ts'
import type { ForwardReports } from './ports.ts'
import { startPrefill } from './prefill-worker.ts'

/** Of the pool's private scratch the main thread takes the first, the forward thread the next. */
const MAIN_LANE = 0

export interface WorkerOutside {
  readonly pool: PoolMemory
  /** Transport `shared`, for prefill: the pool it stores its pages into. */
  readonly neighbour?: NeighbourPool
  /** The thread that computes on the same pool. */
  readonly forward: ForwardChannel
  readonly links: Links
  readonly clock: Clock
  readonly digests: DigestTools
  readonly random: Random
  readonly send: (message: FromWorker) => void
  readonly fatal: (error: Error) => void
  /** Called when the worker is up: from now on its threads let others go first. */
  readonly yieldToDecode: () => void
}

export interface Worker {
  message(message: RouterToDecode | RouterToPrefill): void
  passMs(): number
  /** Drills every detector and says what they did. */
  drill(turn: number): Promise<void>
}

/** What this worker is on the link to the other. */
export const linkParty = ({ role, model, digest, epoch, shape }: WorkerInit): LinkParty => ({
  role,
  model,
  weights: digest,
  epoch,
  shape,
})

const transportOf = ({ channel }: Pick<WorkerInit, 'channel'>): Transport =>
  channel.kind === 'shared' ? 'shared' : 'socket'

/**
 * Waits for the model, opens the link, and says hello when the other side is on it: a worker that is seen can take part in a
 * request. Of a restarted pair, whichever side is new keeps the router waiting until the two are joined.
 */
export const startWorker = async (init: WorkerInit, outside: WorkerOutside): Promise<Worker> => {
  const fences = fullFences(init.integrity)
  const { pool, digests, random } = outside
  const reports: { current: ForwardReports | null } = { current: null }
  const forward = await connectForward(outside.forward, () => reports.current!, outside.clock.now)
  outside.send({ kind: 'loaded', notes: forward.notes, drill: forward.drill })
  const transport = transportOf(init)
  const options: WorkerOptions = {
    model: init.model,
    weights: init.digest,
    epoch: init.epoch,
    shape: init.shape,
    fences,
    crypto: digests.keyed(init.keys.ticket),
    scrub: init.scrub,
    sweepEvery: init.sweepEvery,
    transport,
  }
  const kernels = openPool(pool, { lane: MAIN_LANE, checks: fences.kernel, ...init.rope })
  const drills = workerDrills({
    worker: options,
    kernels,
    ...(transport === 'shared' && { itself: openNeighbour(pool, pool) }),
    own: linkParty(init),
    linkKey: init.keys.link,
    digests,
    random,
    integrity: init.integrity,
  })
  outside.send({ kind: 'drilled', findings: [...drills.map((one) => one()), ...forward.findings] })
  const start = init.role === 'prefill' ? startPrefill : startDecode
  const { core, message } = await start({ init, outside, options, kernels, forward })
  reports.current = core
  const drill = async (turn: number): Promise<void> => {
    const findings = [...(await forward.drillAgain(turn))]
    for (const one of drills) {
      findings.push(one())
      // Answers that stream are not to wait for all of them at once.
      await nextTurn()
    }
    outside.send({ kind: 'drilled', findings })
  }
  return { message, passMs: forward.passMs, drill }
}
