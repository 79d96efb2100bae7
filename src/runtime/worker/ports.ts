import type { DecodeToPrefill, Lease, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { NeighbourPool, PoolKernels } from '../../kernels/index.ts'
import type { ForwardPlan, ForwardResult } from '../../model/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'

/** What a worker's machine needs of the world, be it a process of its own or a part of another. */
export interface WorkerPorts<Message> {
  readonly now: () => number
  /** This thread's instance over the pool. */
  readonly kernels: PoolKernels
  /** Transport `shared`, for prefill: decode's pool, into which it stores its pages. */
  readonly neighbour?: NeighbourPool
  /** Bytes that it stores in one turn of its thread; default 4 MiB, about a millisecond. */
  readonly turnBytes?: number
  readonly poolPages: number
  readonly pageSize: number
  /** Begins a pass; its layers and its end come back through the worker's `layerDone` and `forwardDone`. */
  readonly forward: (plan: ForwardPlan) => void
  readonly send: (message: Message) => void
  readonly telemetry: (event: TelemetryEvent) => void
  /** No event is left to step: a good moment to write out what was gathered. */
  readonly idle: () => void
}

/** Prefill's side of the channel. */
export interface PageSink {
  /** Takes the rows as they are, until `written` is called. False: full, wait for `drained`. */
  sendPage(frame: PageFrame, rows: Uint8Array, written: () => void): boolean
  sendManifest(frame: ManifestFrame): boolean
  /** Transport `shared`. */
  sendAcknowledge?(lease: Lease): void
}

/** Decode's side of the channel. */
export interface LeaseSink {
  sendLeaseClosed(message: DecodeToPrefill): boolean
  /** Transport `shared`: prefill may store under leases from this one on. */
  openLeases?(from: Lease): void
}

/** How a pass reports back to the worker that began it. */
export interface ForwardReports {
  layerDone(planId: number, layer: number): void
  forwardDone(result: ForwardResult, seconds: number): void
}
