import type { MessagePort } from 'node:worker_threads'
import type { DecodeToPrefill, Lease, PrefillToDecode } from '../../cluster/index.ts'
import type { PoolMemory } from '../../kernels/index.ts'
import type { FromWorker, ToWorker, WorkerInit, WorkerRole } from '../worker/ipc.ts'

/** From the gateway to a process that hosts both workers of a model. */
export type ToHost =
  | { readonly kind: 'to'; readonly role: WorkerRole; readonly message: ToWorker }
  /** End this role's life, whatever it is doing. */
  | { readonly kind: 'end'; readonly role: WorkerRole; readonly reason: string }

export type FromHost =
  | { readonly kind: 'from'; readonly role: WorkerRole; readonly message: FromWorker }
  /** Each of the role's threads is known ended. Decode's end is the process's. */
  | { readonly kind: 'ended'; readonly role: 'prefill'; readonly reason: string }

/** What a role's thread begins its life with. */
export interface RoleInit {
  readonly init: WorkerInit
  /** In one object, so that all of them refer to one memory on the other side. */
  readonly pools: Readonly<Record<WorkerRole, PoolMemory>>
  /** Its pool is as an earlier life left it. */
  readonly used: boolean
  readonly forward: MessagePort
  /** Prefill's end of the link. Decode gets its ends by message, one for each life of prefill. */
  readonly link: MessagePort | null
}

/** What decode's thread is told of prefill's lives. */
export type LinkChange =
  /** One begins, the so many-th; this is decode's end of the link to it. */
  | { readonly kind: 'link'; readonly port: MessagePort; readonly life: number }
  /** Every thread of it is known ended (R6). */
  | { readonly kind: 'link_down' }

/** From the host to a role's thread. */
export type ToRole = Exclude<ToWorker, { kind: 'init' | 'decode_port' }> | LinkChange

export type FromRole =
  | FromWorker
  /** From decode: no more of this life of prefill. */
  | { readonly kind: 'cut'; readonly life: number; readonly reason: string }

/** Between the two roles; what one turn gave, in order. */
export type ToDecodeSide = readonly (PrefillToDecode | { readonly kind: 'here' })[]
export type ToPrefillSide = readonly (DecodeToPrefill | { readonly kind: 'open_leases'; readonly from: Lease })[]
