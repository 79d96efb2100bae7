import { issueTicket, tokenDigest } from '../../../admission/index.ts'
import {
  DecodeMachine,
  type DecodeToRouter,
  fullFences,
  type Lease,
  type ManifestFrame,
  type PageFrame,
} from '../../../cluster/index.ts'
import { nodeDigests } from '../../../host/node/index.ts'
import { createPool, openPool, type PoolKernels } from '../../../kernels/index.ts'
import { lineageKey, prefixDigests } from '../../../kv/index.ts'
import type { ForwardPlan } from '../../../model/index.ts'
import { createDecodeCore } from '../../worker/decode-core.ts'
import type { LinkEvents } from '../protocol.ts'
import { optionsOf, rowsOf, SHAPE } from './pair.ts'

/** Three whole pages and two rows of a fourth. */
const PROMPT = Int32Array.from({ length: 14 }, (_, at) => at)
const POOL = { ...SHAPE, pages: 16, heads: 1 }
const KEYS = { guards: BigUint64Array.of(3n, 5n), seal: new Uint8Array(32).fill(4), ticket: new Uint8Array(32).fill(6) }
const SAMPLING = { temperature: 0, topP: 1, topK: 0, seed: 0, topLogprobs: null }

/** What an honest prefill sends for one request. */
export interface Delivery {
  readonly requestId: string
  readonly lease: Lease
  readonly pages: readonly { readonly frame: PageFrame; readonly rows: Buffer }[]
  readonly manifest: ManifestFrame
}

/**
 * A whole decode worker but for its sockets: machine, ledger and a pool of real kernels, in which one request, `victim`, stands
 * filled and computes. Every write to the pool is watched: a page may get the rows that were honestly sent for its place under
 * its own lease, once, and nothing else. A second pool is told of what may be; the two must stay the same, byte for byte.
 */
export class DecodeEnd {
  readonly failures: string[] = []
  readonly #kernels: PoolKernels
  readonly #twin: PoolKernels
  readonly #sealer: PoolKernels
  readonly #core: ReturnType<typeof createDecodeCore>
  readonly #crypto = nodeDigests.keyed(KEYS.ticket)
  readonly #said: DecodeToRouter[] = []
  readonly #plans: ForwardPlan[] = []
  readonly #violations: string[] = []
  readonly victim: Delivery
  readonly #made = new Map<string, Delivery>()
  #name = ''
  #now = 0
  #delivery: Delivery | null = null
  /** Pages of the pool that the request under way was given, in its table's order. */
  #given: Uint32Array = new Uint32Array(0)
  #hand: PageFrame | null = null
  #cut: () => void = () => undefined
  #written = new Set<PageFrame>()
  placed = 0

  constructor() {
    const open = (): PoolKernels =>
      openPool(createPool(POOL, KEYS.guards, KEYS.seal), {
        lane: 0,
        checks: fullFences().kernel,
        ropeTheta: 10_000,
        ropeDims: 4,
      })
    this.#kernels = open()
    this.#twin = open()
    this.#sealer = open()
    const { own } = optionsOf('decode')
    const machine = new DecodeMachine({
      ...own,
      shape: POOL,
      fences: fullFences(),
      crypto: this.#crypto,
      scrub: 'tags',
      sweepEvery: 0,
      maxBatch: 8,
    })
    this.#core = createDecodeCore(
      machine,
      {
        now: () => this.#now,
        kernels: this.#watched(),
        poolPages: POOL.pages,
        pageSize: POOL.pageSize,
        forward: (plan) => this.#plans.push(plan),
        send: (message) => this.#said.push(message),
        telemetry: (event) => {
          if (event.kind === 'transfer_violation') this.#violations.push(event.reason)
        },
        idle: () => undefined,
      },
      () => this.#cut(),
    )
    this.#core.start()
    this.victim = this.begin('the beginning', 'victim', () => undefined)
    for (const { frame, rows } of this.victim.pages) this.events.page?.(frame, rows)
    this.#core.manifest(this.victim.manifest)
    this.end()
    if (this.#plans.length !== 1) this.failures.push('the victim does not compute')
  }

  /** Both pools' pages that are free while only the victim is there. */
  get #atRest(): number {
    return POOL.pages - this.victim.pages.length / SHAPE.layers
  }

  /** Connects, and reserves for a request; `name` is the session's, `cut` ends its connection. */
  begin(name: string, requestId: 'victim' | 'own', cut: () => void): Delivery {
    this.#name = name
    this.#now += 1
    this.#cut = cut
    this.#said.length = 0
    this.#violations.length = 0
    this.#written.clear()
    this.#core.linkUp({ sendLeaseClosed: () => true })
    const { model, weights } = optionsOf('decode').own
    const claims = { promptTokens: PROMPT.length, tokenDigest: tokenDigest(PROMPT, this.#crypto), maxOutput: 2, n: 1 }
    const named = { requestId, attempt: 1, tenant: 'a', model, weights, expiresAt: this.#now + 2 }
    const ticket = issueTicket({ ...named, ...claims }, this.#crypto)
    this.#core.message({ kind: 'reserve', requestId, attempt: 1, ticket, ids: PROMPT, sampling: SAMPLING, endIds: [] })
    const reserved = this.#said.find((message) => message.kind === 'reserved')
    if (reserved?.kind !== 'reserved') throw new Error('no room: pages did not come home')
    const { lease } = reserved
    const whole = this.#honest(requestId)
    const pages = whole.pages.map(({ frame, rows }) => ({ frame: { ...frame, lease }, rows }))
    this.#delivery = { requestId, lease, pages, manifest: { ...whole.manifest, lease } }
    return this.#delivery
  }

  /** What the protocol is to tell. */
  readonly events: Partial<LinkEvents> = {
    page: (frame, rows) => {
      this.#hand = frame
      this.#core.page(frame, rows)
      this.#hand = null
    },
    manifest: (frame) => this.#core.manifest(frame),
  }

  /** Why frames that were delivered were not taken. */
  get refusals(): readonly string[] {
    return this.#violations
  }

  /** Disconnects, lets the request go, and looks at every page of the pool. */
  end(): void {
    const { requestId } = this.#delivery!
    this.#core.linkDown()
    if (requestId !== 'victim') this.#core.message({ kind: 'abort', requestId, attempt: 1 })
    const { free } = this.#core.poolUse()
    if (this.victim && free !== this.#atRest) this.#fault(`${free} pages are free, not ${this.#atRest}`)
    this.#compare()
  }

  /** The victim's pass ends; it is to go on as if nothing had been. */
  victimGoesOn(): boolean {
    const plan = this.#plans[0]!
    const results = plan.sequences.map(({ requestId, attempt, sample }) => ({
      requestId,
      attempt,
      sequence: sample?.sequence ?? null,
      fault: null,
      sampled: sample === null ? null : { token: 5, logprob: null, top: [] },
    }))
    this.#said.length = 0
    this.#core.forwardDone({ id: plan.id, results }, 0)
    return this.#plans.length === 2 && this.#said.every(({ kind }) => kind !== 'failed')
  }

  /** All but the lease, made once: a request of the same name and prompt has the same seals. */
  #honest(requestId: string): Delivery {
    const made = this.#made.get(requestId)
    if (made !== undefined) return made
    const lease = { id: 0, epoch: 0 }
    const digests = prefixDigests(PROMPT, SHAPE.pageSize, nodeDigests.sha256)
    const pages = digests.flatMap((digest, ordinal) =>
      Array.from({ length: SHAPE.layers }, (_, layer) => {
        const count = Math.min(SHAPE.pageSize, PROMPT.length - ordinal * SHAPE.pageSize)
        const rows = rowsOf(count, 1 + ordinal * SHAPE.layers + layer + (requestId === 'victim' ? 100 : 0))
        const lineage = { namespace: `${requestId}/1`, tokenDigest: digest, layer, ordinal, rows: count }
        const seal = this.#sealer.sealRows(layer, count, rows, lineageKey(lineage, nodeDigests.sha256)!)
        const frame: PageFrame = { kind: 'page', requestId, attempt: 1, lease, layer, ordinal, rows: count, seal }
        return { frame, rows }
      }),
    )
    const totals = { pages: digests.length, rows: PROMPT.length, layers: SHAPE.layers }
    const digest = tokenDigest(PROMPT, this.#crypto)
    const manifest = { kind: 'manifest', requestId, attempt: 1, lease, ...totals, tokenDigest: digest } as const
    this.#made.set(requestId, { requestId, lease, pages, manifest })
    return { requestId, lease, pages, manifest }
  }

  /** The kernels as the worker has them, each change judged before it happens and told to the twin when it may be. */
  #watched(): PoolKernels {
    const real = this.#kernels
    const fault = (what: string): void => this.#fault(what)
    /** The honest frame whose place is this page's, if that is what is in hand. */
    const expected = (page: number, layer: number, count: number) => {
      const found = this.#delivery?.pages.find(
        ({ frame }) => this.#given[frame.ordinal] === page && frame.layer === layer && frame.rows === count,
      )
      return found !== undefined && this.#hand !== null && namesSame(found.frame, this.#hand) ? found : undefined
    }
    const mirror = <K extends 'claim' | 'retire'>(name: K): PoolKernels[K] =>
      ((pages: Uint32Array, ...rest: never[]) => {
        if (name === 'claim') {
          if (this.#hand) fault('a frame claimed pages')
          this.#given = pages.slice()
        } else if (pages.some((page) => !this.#given.includes(page))) fault('pages of another were retired')
        for (const kernels of [real, this.#twin]) (kernels[name] as (...all: unknown[]) => void)(pages, ...rest)
      }) as PoolKernels[K]
    return {
      ...real,
      claim: mirror('claim'),
      retire: mirror('retire'),
      retag: () => fault('a page changed hands'),
      copyRows: () => fault('rows were copied'),
      writeRows: (page, layer, count, from) => {
        const found = expected(page, layer, count)
        if (found === undefined || this.#written.has(found.frame) || !found.rows.equals(from)) {
          fault(`page ${page} layer ${layer} was written with what nobody sent for it`)
        } else {
          this.#written.add(found.frame)
          this.#twin.writeRows(page, layer, count, found.rows)
          this.placed += 1
        }
        real.writeRows(page, layer, count, from)
      },
      markFilled: (page, layer, count) => {
        const found = expected(page, layer, count)
        if (found === undefined || !this.#written.has(found.frame))
          fault(`page ${page} layer ${layer} counts as filled`)
        else this.#twin.markFilled(page, layer, count)
        real.markFilled(page, layer, count)
      },
    }
  }

  #fault(what: string): void {
    this.failures.push(`${this.#name}: ${what}`)
  }

  #compare(): void {
    const mine = new Uint8Array(this.#kernels.rowBytes(POOL.pageSize))
    const its = new Uint8Array(mine.length)
    for (let page = 0; page < POOL.pages; page++) {
      const tags = [this.#kernels.tag(page), this.#twin.tag(page)] as const
      let same = tags[0].owner === tags[1].owner && tags[0].generation === tags[1].generation
      for (let layer = 0; layer < POOL.layers; layer++) {
        this.#kernels.readRows(page, layer, POOL.pageSize, mine)
        this.#twin.readRows(page, layer, POOL.pageSize, its)
        same &&= Buffer.compare(mine, its) === 0 && this.#kernels.filled(page, layer) === this.#twin.filled(page, layer)
      }
      if (!same) this.#fault(`page ${page} is not what was honestly sent`)
    }
  }
}

/** One place of one request under one lease. */
const namesSame = (a: PageFrame, b: PageFrame): boolean =>
  a.requestId === b.requestId &&
  a.attempt === b.attempt &&
  a.lease.id === b.lease.id &&
  a.lease.epoch === b.lease.epoch &&
  a.ordinal === b.ordinal &&
  a.layer === b.layer
