import type {
  DecodeEffect,
  DecodeEvent,
  Decoder,
  DecodeToRouter,
  Lease,
  ManifestFrame,
  PageFrame,
  PlaceEffect,
  PoolUse,
  RouterToDecode,
} from '../../cluster/index.ts'
import { createDriver } from './driver.ts'
import { createPoolEffects } from './pool-effects.ts'
import type { ForwardReports, LeaseSink, WorkerPorts } from './ports.ts'
import { sealsAgree } from './seals-agree.ts'

export interface DecodeCore extends ForwardReports {
  start(): void
  message(message: RouterToDecode): void
  linkUp(sink: LeaseSink): void
  linkDown(): void
  /** `rows` need to be good until this returns; absent where the writer has stored them in the page. */
  page(frame: PageFrame, rows?: Uint8Array): void
  manifest(frame: ManifestFrame): void
  acknowledged(lease: Lease): void
  poolUse(): PoolUse
}

/** Drives a decode machine: executes its effects exactly in order on the ports. `cutLink` ends the channel, now. */
export const createDecodeCore = (
  machine: Decoder,
  ports: WorkerPorts<DecodeToRouter>,
  cutLink: (reason: string) => void,
): DecodeCore => {
  const { now, kernels } = ports
  let sink: LeaseSink | null = null

  const place = (effect: PlaceEffect, rows: Uint8Array | undefined): 'ok' | 'bad_seal' => {
    const { page, layer, rows: count, lineageKey } = effect
    const arrived = effect.stored ? undefined : rows
    if (lineageKey) {
      const seal = arrived
        ? kernels.sealRows(layer, count, arrived, lineageKey)
        : kernels.seal(page, layer, count, lineageKey)
      if (!sealsAgree(seal, effect.seal)) return 'bad_seal'
    }
    // Over a socket what does not verify never comes this far; what was stored from the other side stands there already.
    if (arrived) kernels.writeRows(page, layer, count, arrived)
    kernels.markFilled(page, layer, count)
    return 'ok'
  }

  const execute = (effect: DecodeEffect, rows: Uint8Array | undefined): void => {
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
      case 'place': {
        if (!rows && !effect.stored) throw new Error('a page is placed without its bytes')
        const outcome = place(effect, rows)
        driver.dispatch({ kind: 'placed', id: effect.id, outcome, now: now() })
        return
      }
      case 'discard':
        // The bytes came whole with their frame; not looking at them is all there is to do.
        return
      case 'copy_rows':
        for (const { from, to, rows: count } of effect.copies) kernels.copyRows(from, to, count)
        driver.dispatch({ kind: 'copied', id: effect.id, now: now() })
        return
      case 'close_lease':
        sink?.sendLeaseClosed({ ...effect, kind: 'lease_closed' })
        return
      case 'open_leases':
        sink?.openLeases?.(effect.from)
        return
      case 'close_link':
        ports.telemetry({ kind: 'transfer_violation', reason: effect.reason })
        cutLink(effect.reason)
        return
      default:
        executeOnPool(effect)
        return
    }
  }

  const executeOnPool = createPoolEffects(kernels, ports.poolPages, now, (event) => driver.dispatch(event))
  const driver = createDriver<DecodeEvent, DecodeEffect>(machine, execute, ports.idle)
  return {
    start: () => driver.dispatch({ kind: 'start', now: now() }),
    message: (message) => driver.dispatch({ kind: 'message', message, now: now() }),
    linkUp: (up) => {
      sink = up
      driver.dispatch({ kind: 'link_up', now: now() })
    },
    linkDown: () => {
      sink = null
      driver.dispatch({ kind: 'link_down', now: now() })
    },
    page: (frame, rows) => driver.dispatch({ kind: 'page_frame', frame, now: now() }, rows),
    manifest: (frame) => driver.dispatch({ kind: 'manifest', frame, now: now() }),
    acknowledged: (lease) => driver.dispatch({ kind: 'acknowledged', lease, now: now() }),
    layerDone: () => undefined,
    forwardDone: (result, seconds) => driver.dispatch({ kind: 'forward_done', result, seconds, now: now() }),
    poolUse: () => machine.poolUse(),
  }
}
