import type { EngineHandle, EnginePort, EngineRequest, RouterToPrefill } from '../../cluster/index.ts'
import type { ForwardPlan } from '../../model/index.ts'
import type { Role } from '../../telemetry/index.ts'

/** An engine in front of which requests are marked, not removed: the fault of 2026, R1 broken on purpose. */
export interface Placeholders {
  /** What the engine's router sends to prefill passes through here. */
  readonly toPrefill: (message: RouterToPrefill) => RouterToPrefill
  /** Decode takes its last prompt token as its first input and stores its row, whatever stood there. */
  readonly forward: (role: Role, plan: ForwardPlan) => ForwardPlan
  readonly wrap: (engine: EnginePort) => EnginePort
}

/**
 * A prompt too long for prefill's pool is noted as rejected and its ids are replaced by one token, but it stays in the
 * queue: nobody asks whether it was rejected. Decode reserves for the whole prompt, prefill computes and sends one page.
 */
export function rejectedButAlive(prefillPool: number): Placeholders {
  const rejected = new Set<string>()
  const submit = (
    engine: EnginePort,
    request: EngineRequest,
    sink: Parameters<EnginePort['submit']>[1],
  ): EngineHandle => {
    if (request.ids.length + 1 <= prefillPool) return engine.submit(request, sink)
    rejected.add(request.requestId)
    return engine.submit({ ...request, contract: { ...request.contract, prefillPages: 1 } }, sink)
  }
  return {
    toPrefill: (message) =>
      message.kind === 'prefill' && rejected.has(message.requestId)
        ? { ...message, ids: message.ids.subarray(0, 1) }
        : message,
    forward: (role, plan) =>
      role === 'prefill'
        ? plan
        : { ...plan, sequences: plan.sequences.map((sequence) => ({ ...sequence, write: 'append' })) },
    wrap: (engine) => ({ models: engine.models, submit: (request, sink) => submit(engine, request, sink) }),
  }
}
