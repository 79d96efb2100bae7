import type { DecodeToRouter, PrefillToRouter, WorkerHello, WorkerOptions } from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'
import type { ForwardThread } from './forward-client.ts'
import type { WorkerInit } from './ipc.ts'
import type { Outbox } from './outbox.ts'
import type { WorkerPorts } from './ports.ts'
import type { WorkerOutside } from './start.ts'
import { createViolations } from './violations.ts'

/** What either role's machine is built on. */
export interface WorkerParts {
  readonly init: WorkerInit
  readonly outside: WorkerOutside
  readonly options: WorkerOptions
  readonly kernels: PoolKernels
  readonly forward: ForwardThread
}

export const portsOf = <Message extends PrefillToRouter | DecodeToRouter>(
  { init, outside, kernels, forward }: WorkerParts,
  outbox: Outbox,
  hello: HeldHello,
): WorkerPorts<Message> => ({
  now: outside.clock.now,
  kernels,
  ...(outside.neighbour && { neighbour: outside.neighbour }),
  poolPages: init.shape.pages,
  pageSize: init.shape.pageSize,
  forward: (plan) => forward.run(plan),
  send: (message) => {
    if (message.kind === 'hello') hello.hold(message)
    else outbox.send(message)
  },
  telemetry: (event) => outbox.telemetry(event),
  idle: () => outbox.flush(),
})

export const tellViolation = (outbox: Outbox): ((reason: string) => void) =>
  createViolations((reason, count) => {
    outbox.telemetry({ kind: 'transfer_violation', reason, count })
    outbox.flush()
  })

export interface HeldHello {
  hold(hello: WorkerHello): void
  /** Lets it go, the first time. */
  release(): void
}

/** A machine greets at once; the router hears of it when the other worker can be reached, too. */
export const heldHello = (outbox: Outbox, atRelease: () => void = () => undefined): HeldHello => {
  let held: WorkerHello | null = null
  return {
    hold: (hello) => {
      held = hello
    },
    release: () => {
      if (!held) return
      outbox.send(held)
      held = null
      outbox.flush()
      atRelease()
    },
  }
}
