import { issueTicket, type Ticket, tokenDigest } from '../../admission/index.ts'
import {
  DecodeMachine,
  type Decoder,
  type DecodeToPrefill,
  type DecodeToRouter,
  decodeDefaults,
  type Lease,
  type ManifestFrame,
  type PageFrame,
  PrefillMachine,
  type PrefillToRouter,
  prefillDefaults,
  type WorkerOptions,
} from '../../cluster/index.ts'
import type { NeighbourPool, PoolKernels } from '../../kernels/index.ts'
import type { ForwardPlan, ForwardResult } from '../../model/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { createDecodeCore, type DecodeCore } from '../worker/decode-core.ts'
import type { WorkerPorts } from '../worker/ports.ts'
import { createPrefillCore, type PrefillCore } from '../worker/prefill-core.ts'
import { kernelsFrom, madeUpRows, neighbourFrom, REHEARSAL_PAGES } from './pages.ts'

/** The tenant whose requests these are; no key can name it, since a tenant's name has no space. */
const TENANT = 'drill tenant'
const MAX_OUTPUT = 2
const SAMPLED = { token: 1, logprob: null, top: [] }

export interface RehearsalOptions {
  /** As the worker's own machine has them: same fences, same keys, same weights. */
  readonly worker: WorkerOptions
  /** The main thread's instance, which places and seals real rows. */
  readonly kernels: PoolKernels
  /** Transport `shared`: stores from this pool into this pool; both legs' pages are in it. */
  readonly itself?: NeighbourPool
  /** What stands for decode's machine where a test takes a detector away. */
  readonly decoder?: (machine: Decoder) => Decoder
  /** First of the drill's pages of each leg. */
  readonly prefillPage: number
  readonly decodePage: number
}

export type Parcel =
  | { readonly kind: 'page'; readonly frame: PageFrame; readonly rows: Uint8Array }
  | { readonly kind: 'manifest'; readonly frame: ManifestFrame }

/**
 * A cluster in miniature: the prefill and decode machines of a worker, driven by the same code over pages that no request
 * can have, with made-up rows in place of a model's. What is wrong is put in by hand, and what came of it is looked at.
 */
export class Rehearsal {
  readonly said: (DecodeToRouter | PrefillToRouter)[] = []
  readonly telemetry: TelemetryEvent[] = []
  readonly parcels: Parcel[] = []
  readonly #options: RehearsalOptions
  readonly #decode: DecodeCore
  readonly #prefill: PrefillCore
  readonly #closed: DecodeToPrefill[] = []
  #plans: ForwardPlan[] = []

  constructor(options: RehearsalOptions) {
    this.#options = options
    const { worker } = options
    const shared = { ...worker, shape: { ...worker.shape, pages: REHEARSAL_PAGES }, sweepEvery: 0 }
    const decode = new DecodeMachine({ ...decodeDefaults, ...shared })
    const prefill = new PrefillMachine({ ...prefillDefaults, ...shared })
    this.#decode = createDecodeCore(
      options.decoder?.(decode) ?? decode,
      this.#ports(options.decodePage, this.#plans),
      () => undefined,
    )
    this.#prefill = createPrefillCore(prefill, {
      ...this.#ports<PrefillToRouter>(options.prefillPage, null, (plan) => this.#compute(plan)),
      ...(options.itself && {
        neighbour: neighbourFrom(options.itself, options.prefillPage, options.decodePage),
        turnBytes: Number.POSITIVE_INFINITY,
      }),
    })
    const keep = (parcel: Parcel): boolean => this.parcels.push(parcel) > 0
    let first: Lease | undefined
    this.#decode.linkUp({
      sendLeaseClosed: (message) => this.#closed.push(message) > 0,
      openLeases: (from) => {
        first = from
      },
    })
    this.#prefill.linkUp(
      {
        sendPage: (frame, rows, written) => {
          const kept = keep({ kind: 'page', frame, rows: this.#stored(frame) ?? rows.slice() })
          written()
          return kept
        },
        sendManifest: (frame) => keep({ kind: 'manifest', frame }),
        sendAcknowledge: (lease) => this.#decode.acknowledged(lease),
      },
      first,
    )
    this.said.length = 0
  }

  /** A prompt of one page and a row. */
  get ids(): Int32Array {
    return Int32Array.from({ length: this.#options.worker.shape.pageSize + 1 }, (_, i) => i)
  }

  ticket(requestId: string, ids = this.ids, expiresAt = 1): Ticket {
    const { model, weights, crypto } = this.#options.worker
    const named = { requestId, attempt: 1, tenant: TENANT, model, weights }
    const claims = { promptTokens: ids.length, tokenDigest: tokenDigest(ids, crypto), maxOutput: MAX_OUTPUT, n: 1 }
    return issueTicket({ ...named, ...claims, expiresAt }, crypto)
  }

  reserve(requestId: string, ticket = this.ticket(requestId), ids = this.ids): void {
    const sampling = { temperature: 0, topP: 1, topK: 0, seed: 0, topLogprobs: null }
    this.#decode.message({ kind: 'reserve', requestId, attempt: 1, ticket, ids, sampling, endIds: [] })
  }

  /** Prefill's leg; its pages lie in `parcels` afterwards. */
  prefill(requestId: string, ticket = this.ticket(requestId), ids = this.ids): void {
    const lease = this.#lease() ?? { id: 0, epoch: 0 }
    this.#prefill.message({ kind: 'prefill', requestId, attempt: 1, ticket, ids, lease })
  }

  deliver(parcels: readonly Parcel[] = this.parcels): void {
    for (const parcel of parcels) {
      if (parcel.kind === 'page') this.#deliverPage(parcel.frame, parcel.rows)
      else this.#decode.manifest(parcel.frame)
    }
  }

  abort(requestId: string): void {
    this.#decode.message({ kind: 'abort', requestId, attempt: 1 })
  }

  /** Prefill hears which leases are closed, and gives its word on each. */
  acknowledge(): void {
    for (const message of this.#closed.splice(0)) this.#prefill.leaseClosed(message)
  }

  /** Decode's pages that nobody can be given. */
  quarantined(): number {
    return this.#decode.poolUse().quarantined
  }

  /** Ends decode's passes until it asks for no more; `result` may say something else than the plan. */
  decode(result: (honest: ForwardResult) => ForwardResult = (honest) => honest): void {
    for (let plan = this.#plans.shift(); plan; plan = this.#plans.shift())
      this.#decode.forwardDone(result(resultOf(plan)), 0)
  }

  /** Rows that stand in decode's pages. */
  standing(): number {
    const { kernels, decodePage } = this.#options
    let rows = 0
    for (let page = 0; page < REHEARSAL_PAGES; page++) rows += kernels.filled(decodePage + page, 0)
    return rows
  }

  /** How the request ended, or `running`; a rule that stopped it is named. */
  ending(): string {
    const last = this.said.findLast((message) => message.kind === 'failed' || message.kind === 'declined')
    if (last?.kind === 'declined') return last.code
    const fault = this.telemetry.findLast((event) => event.kind === 'integrity_fault')
    if (last?.kind === 'failed') return `${fault?.kind === 'integrity_fault' ? `${fault.rule} ` : ''}${last.code}`
    return this.said.some((message) => message.kind === 'finished') ? 'finished' : 'running'
  }

  /** The last thing that was wrong with a frame; `silent` if nothing was. */
  violation(): string {
    const event = this.telemetry.findLast((one) => one.kind === 'transfer_violation')
    return event?.kind === 'transfer_violation' ? event.reason : 'silent'
  }

  #lease(): Lease | undefined {
    const reserved = this.said.find((message) => message.kind === 'reserved')
    return reserved?.kind === 'reserved' ? reserved.lease : undefined
  }

  /** Over `shared`, the page of decode's that this frame is about. */
  #target(frame: PageFrame): number | undefined {
    const page = this.#lease()?.target?.pages[frame.ordinal]
    return page === undefined ? undefined : this.#options.decodePage + page
  }

  /** Over `shared`: the rows that stand in that page. */
  #stored(frame: PageFrame): Uint8Array | undefined {
    const { kernels } = this.#options
    const page = this.#target(frame)
    if (page === undefined) return undefined
    const rows = new Uint8Array(kernels.rowBytes(frame.rows))
    kernels.readRows(page, frame.layer, frame.rows, rows)
    return rows
  }

  /** Over `shared` the bytes, as they are by now, stand in the page when word of them comes. */
  #deliverPage(frame: PageFrame, rows: Uint8Array): void {
    const page = this.#target(frame)
    if (page === undefined) {
      this.#decode.page(frame, rows)
      return
    }
    this.#options.kernels.writeRows(page, frame.layer, frame.rows, rows)
    this.#decode.page(frame)
  }

  #ports<Message extends DecodeToRouter | PrefillToRouter>(
    first: number,
    plans: ForwardPlan[] | null,
    compute: (plan: ForwardPlan) => void = () => undefined,
  ): WorkerPorts<Message> {
    const { kernels, worker } = this.#options
    return {
      now: () => 0,
      kernels: kernelsFrom(kernels, first),
      poolPages: REHEARSAL_PAGES,
      pageSize: worker.shape.pageSize,
      forward: plans === null ? compute : (plan) => plans.push(plan),
      send: (message) => this.said.push(message),
      telemetry: (event) => this.telemetry.push(event),
      idle: () => undefined,
    }
  }

  /** Prefill's pass: rows that nobody computed, in every layer of the pages that the plan fills. */
  #compute(plan: ForwardPlan): void {
    const { kernels, prefillPage, worker } = this.#options
    const { pageSize, layers } = worker.shape
    for (const { table, start, tokens } of plan.sequences) {
      const end = start + tokens.length
      for (let ordinal = Math.floor(start / pageSize); ordinal * pageSize < end; ordinal++) {
        const rows = Math.min(pageSize, end - ordinal * pageSize)
        const bytes = madeUpRows(kernels.rowBytes(rows), ordinal)
        const page = prefillPage + table.pages[ordinal]!
        for (let layer = 0; layer < layers; layer++) {
          kernels.writeRows(page, layer, rows, bytes)
          kernels.markFilled(page, layer, rows)
        }
      }
    }
    this.#prefill.forwardDone(resultOf(plan), 0)
  }
}

const resultOf = (plan: ForwardPlan): ForwardResult => ({
  id: plan.id,
  results: plan.sequences.map(({ requestId, attempt, sample }) => ({
    requestId,
    attempt,
    sequence: sample?.sequence ?? null,
    fault: null,
    sampled: sample === null ? null : SAMPLED,
  })),
})
