import { DecodeMachine, type DecodeToRouter, type RouterToDecode, type RouterToPrefill } from '../../cluster/index.ts'
import { createDecodeCore, type DecodeCore } from './decode-core.ts'
import { createOutbox } from './outbox.ts'
import { heldHello, portsOf, tellViolation, type WorkerParts } from './worker-parts.ts'

/** Decode's machine on its ports, and its side of the link. */
export const startDecode = async (
  parts: WorkerParts,
): Promise<{ readonly core: DecodeCore; message(message: RouterToDecode | RouterToPrefill): void }> => {
  const { init, outside } = parts
  const machine = new DecodeMachine({ ...parts.options, maxBatch: init.maxBatch })
  const outbox = createOutbox({ ...outside, role: init.role, machine, now: outside.clock.now })
  const hello = heldHello(outbox)
  const ports = portsOf<DecodeToRouter>(parts, outbox, hello)
  const core = createDecodeCore(machine, ports, (reason) => link.cut(reason))
  core.start()
  const link = await outside.links.decode({
    up: (sink) => core.linkUp(sink),
    joined: () => hello.release(),
    down: () => core.linkDown(),
    page: (frame, rows) => core.page(frame, rows),
    manifest: (frame) => core.manifest(frame),
    acknowledged: (lease) => core.acknowledged(lease),
    violation: tellViolation(outbox),
  })
  return { core, message: (message) => core.message(message as RouterToDecode) }
}
