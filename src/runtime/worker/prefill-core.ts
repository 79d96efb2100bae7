import type {
  DecodeToPrefill,
  Lease,
  PoolUse,
  PrefillEffect,
  PrefillEvent,
  Prefiller,
  PrefillToRouter,
  RouterToPrefill,
} from '../../cluster/index.ts'
import { createDriver } from './driver.ts'
import { createGuardBook } from './guard-book.ts'
import { Outbound } from './outbound.ts'
import { createPoolEffects } from './pool-effects.ts'
import type { ForwardReports, PageSink, WorkerPorts } from './ports.ts'
import { createPublishedPages } from './published-pages.ts'
import type { SendFault } from './send-fault.ts'
import { Stores } from './stores.ts'

export interface PrefillCore extends ForwardReports {
  start(): void
  message(message: RouterToPrefill): void
  /** `from`: transport `shared` alone has one. */
  linkUp(sink: PageSink, from?: Lease): void
  linkDown(): void
  drained(): void
  leaseClosed(message: DecodeToPrefill): void
  /** Gives up every cached prefix. */
  flushPrefixes(): void
  poolUse(): PoolUse
}

/** Drives a prefill machine: executes its effects exactly in order on the ports. */
export const createPrefillCore = (machine: Prefiller, ports: WorkerPorts<PrefillToRouter>): PrefillCore => {
  const { now, kernels } = ports
  const execute = (effect: PrefillEffect): void => {
    switch (effect.kind) {
      case 'forward':
        ports.forward(effect.plan)
        return
      case 'send':
        ports.send(effect.message)
        return
      case 'telemetry':
        ports.telemetry(effect.event)
        return
      case 'send_page':
      case 'send_manifest':
      case 'send_acknowledge':
        outbound.push(effect)
        return
      case 'publish_page':
      case 'verify_page':
        executeOnPublished(effect)
        return
      default:
        executeOnPool(effect)
        return
    }
  }
  const guards = createGuardBook(kernels, ports.poolPages)
  const dispatch = (event: PrefillEvent): void => driver.dispatch(event)
  const executeOnPool = createPoolEffects(kernels, ports.poolPages, now, dispatch, guards)
  const executeOnPublished = createPublishedPages(kernels, guards, now, dispatch)
  const driver = createDriver<PrefillEvent, PrefillEffect>(machine, execute, ports.idle)
  const sent = (id: number, fault?: SendFault): void =>
    driver.dispatch({ kind: 'page_sent', id, ...(fault && { fault }), now: now() })
  const outbound = ports.neighbour
    ? new Stores(kernels, ports.neighbour, sent, ports.turnBytes)
    : new Outbound(kernels, ports.pageSize, sent)
  return {
    start: () => driver.dispatch({ kind: 'start', now: now() }),
    message: (message) => driver.dispatch({ kind: 'message', message, now: now() }),
    linkUp: (sink, from) => {
      outbound.up(sink)
      driver.dispatch({ kind: 'link_up', ...(from !== undefined && { from }), now: now() })
    },
    linkDown: () => {
      outbound.down()
      driver.dispatch({ kind: 'link_down', now: now() })
    },
    drained: () => outbound.drained(),
    leaseClosed: (message) => driver.dispatch({ kind: 'peer', message, now: now() }),
    layerDone: (planId, layer) => driver.dispatch({ kind: 'layer_done', planId, layer, now: now() }),
    forwardDone: (result, seconds) => driver.dispatch({ kind: 'forward_done', result, seconds, now: now() }),
    flushPrefixes: () => driver.dispatch({ kind: 'flush_prefixes', now: now() }),
    poolUse: () => machine.poolUse(),
  }
}
