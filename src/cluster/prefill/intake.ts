import { prefixDigests } from '../../kv/index.ts'
import type { TicketGate } from '../fences.ts'
import { identityOf } from '../identity.ts'
import type { DeclineCode, Prefill } from '../messages.ts'
import type { PrefillOptions } from '../options.ts'
import { declineCode } from '../worker/decline.ts'
import type { WorkerPages } from '../worker/pages.ts'
import { type NewJob, newJob, type PrefillJob } from './job.ts'
import type { Leases } from './leases.ts'
import type { PrefixCache } from './prefix-cache.ts'

/** Whether a prompt may begin, and the pages it begins with. */
export class Intake {
  readonly #options: PrefillOptions
  readonly #pages: WorkerPages
  readonly #prefixes: PrefixCache | null
  readonly #leases: Leases | null
  readonly #gate: TicketGate
  #arrivals = 0

  constructor(options: PrefillOptions, pages: WorkerPages, prefixes: PrefixCache | null, leases: Leases | null) {
    this.#options = options
    this.#pages = pages
    this.#prefixes = prefixes
    this.#leases = leases
    this.#gate = options.fences.ticket('prefill', options.crypto)
  }

  /** Why this prompt may not begin, or null. Spends the ticket (R3). */
  objection(message: Prefill, now: number): DeclineCode | null {
    const { ids, ticket, lease } = message
    const { model, weights, shape } = this.#options
    const check = this.#gate.admit(ticket, {
      requestId: message.requestId,
      attempt: message.attempt,
      ids,
      model,
      weights,
      now,
    })
    if (check.kind === 'invalid' || ids.length === 0) return declineCode(check)
    const over = this.#leases?.mayStore(lease, Math.ceil(ids.length / shape.pageSize)) === false
    return over ? 'lease_over' : null
  }

  /** Reserves what of the prompt is not cached; null where there is no room. */
  open(message: Prefill): PrefillJob | null {
    const { shape, crypto } = this.#options
    const opened = this.#openPages(message)
    if (opened === null) return null
    const digests = prefixDigests(message.ids, shape.pageSize, crypto.sha256)
    const { borrowed, holding, prefix } = opened
    const arrival = this.#arrivals++
    return newJob({ borrowed, holding, prefix, message, arrival, digests, layers: shape.layers })
  }

  /** What is cached of the prompt is held before room is made for the rest, so it is never what makes way. */
  #openPages(message: Prefill): Pick<NewJob, 'borrowed' | 'holding' | 'prefix'> | null {
    const { ids, ticket } = message
    const { pageSize } = this.#options.shape
    const prefix = this.#prefixes?.describe(ids, ticket.claims) ?? []
    const borrowed = this.#prefixes?.borrow(prefix, ids.length) ?? []
    const own = Math.ceil(ids.length / pageSize) - borrowed.length
    this.#prefixes?.makeRoom(own)
    const opened = this.#pages.open(
      identityOf(message),
      Uint32Array.from({ length: own }, (_, i) => borrowed.length + i),
    )
    if (!opened.ok) {
      this.#prefixes?.giveBack(borrowed)
      return null
    }
    if (borrowed.length > 0) this.#pages.owe(opened.value)
    this.#prefixes?.looked(ids.length, borrowed.length * pageSize)
    return { borrowed, holding: opened.value, prefix }
  }
}
