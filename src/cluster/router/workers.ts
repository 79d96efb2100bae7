import type { Contract } from '../../admission/index.ts'
import type { RouterEffect, TelemetryEffect } from '../effects.ts'
import { identityKey } from '../identity.ts'
import type { Identity, RouterToDecode, RouterToPrefill, WorkerHello } from '../messages.ts'
import { PoolMirror } from './mirror.ts'

export type WorkerRole = 'prefill' | 'decode'
type SendEffect = Extract<RouterEffect, { kind: 'to_decode' | 'to_prefill' }>

/** The two workers as the router sees them: which life they are in, what their pools have room for, who has pages there. */
export class Workers {
  readonly #model: string
  readonly #emit: (effect: SendEffect | TelemetryEffect) => void
  readonly #pools: { prefill: PoolMirror | null; decode: PoolMirror | null } = { prefill: null, decode: null }

  readonly #newest = { prefill: -1, decode: -1 }

  constructor(model: string, emit: (effect: SendEffect | TelemetryEffect) => void) {
    this.#model = model
    this.#emit = emit
  }

  /** Does this worker serve our model, and in a life that we have not seen? Epochs grow: a greeting of an earlier one is late. */
  isNew({ role, model, weights, epoch }: WorkerHello, ourWeights: string): boolean {
    return model === this.#model && weights === ourWeights && epoch > this.#newest[role]
  }

  up(role: WorkerRole, epoch: number, pages: number): void {
    this.#newest[role] = epoch
    this.#pools[role] = new PoolMirror(epoch, pages)
    this.#emit({ kind: 'telemetry', event: { kind: 'worker_up', role, model: this.#model, epoch } })
  }

  down(role: WorkerRole, reason: string): void {
    const epoch = this.epoch(role) ?? -1
    this.#pools[role] = null
    this.#emit({ kind: 'telemetry', event: { kind: 'worker_down', role, model: this.#model, epoch, reason } })
  }

  channel(role: WorkerRole, up: boolean): void {
    const pool = this.#pools[role]
    if (pool !== null) pool.channelUp = up
  }

  epoch(role: WorkerRole): number | null {
    return this.#pools[role]?.epoch ?? null
  }

  /** Both are up and reach each other: what is sent to one that does not comes back as failed, and costs an attempt. */
  get joined(): boolean {
    return this.#pools.prefill?.channelUp === true && this.#pools.decode?.channelUp === true
  }

  /** Can the pools take this contract: now, once others have ended, or never in this life of the workers? */
  room({ prefillPages, decodePages }: Contract): 'now' | 'later' | 'never' {
    const { prefill, decode } = this.#pools
    if (prefill === null || decode === null || !this.joined) return 'later'
    if (prefillPages > prefill.total || decodePages > decode.total) return 'never'
    return prefillPages <= prefill.free && decodePages <= decode.free ? 'now' : 'later'
  }

  take(identity: Identity, { prefillPages, decodePages }: Contract): void {
    const key = identityKey(identity)
    this.#pools.prefill?.take(key, prefillPages)
    this.#pools.decode?.take(key, decodePages)
  }

  giveBack(role: WorkerRole, identity: Identity): void {
    this.#pools[role]?.giveBack(identityKey(identity))
  }

  /** Both hear that the attempt is over, unless their pages are home or they never heard of it. */
  leave(identity: Identity, prefillWasAsked: boolean): void {
    const key = identityKey(identity)
    if (this.#pools.decode?.has(key)) this.toDecode({ kind: 'abort', ...identity })
    if (!this.#pools.prefill?.has(key)) return
    if (prefillWasAsked) this.toPrefill({ kind: 'abort', ...identity })
    else this.#pools.prefill.giveBack(key)
  }

  toDecode(message: RouterToDecode): void {
    const epoch = this.epoch('decode')
    if (epoch !== null) this.#emit({ kind: 'to_decode', epoch, message })
  }

  toPrefill(message: RouterToPrefill): void {
    const epoch = this.epoch('prefill')
    if (epoch !== null) this.#emit({ kind: 'to_prefill', epoch, message })
  }
}
