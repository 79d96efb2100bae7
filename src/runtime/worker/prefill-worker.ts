import { PrefillMachine, type PrefillToRouter, type RouterToDecode, type RouterToPrefill } from '../../cluster/index.ts'
import { createOutbox } from './outbox.ts'
import { createPrefillCore, type PrefillCore } from './prefill-core.ts'
import { heldHello, portsOf, tellViolation, type WorkerParts } from './worker-parts.ts'

/** Prefill's machine on its ports, and its side of the link. */
export const startPrefill = async (
  parts: WorkerParts,
): Promise<{ readonly core: PrefillCore; message(message: RouterToDecode | RouterToPrefill): void }> => {
  const { init, outside } = parts
  const machine = new PrefillMachine({
    ...parts.options,
    chunkRows: init.chunkRows,
    layerBudgetSeconds: init.layerBudgetSeconds,
    ...(init.prefixCache === null ? {} : { prefixCache: init.prefixCache }),
  })
  const outbox = createOutbox({ ...outside, role: init.role, machine, now: outside.clock.now })
  const hello = heldHello(outbox, outside.yieldToDecode)
  const core = createPrefillCore(machine, portsOf<PrefillToRouter>(parts, outbox, hello))
  core.start()
  outside.links.prefill({
    up: (sink, from) => core.linkUp(sink, from),
    joined: () => hello.release(),
    down: () => core.linkDown(),
    drained: () => core.drained(),
    leaseClosed: (message) => core.leaseClosed(message),
    violation: tellViolation(outbox),
  })
  return { core, message: (message) => core.message(message as RouterToPrefill) }
}
