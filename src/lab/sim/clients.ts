import { judge, type ModelLimits } from '../../admission/index.ts'
import type { EngineEvent, EngineRequest } from '../../cluster/index.ts'
import { createExchange, type Exchange, type ExchangeEffect, type ExchangeEvent } from '../../gateway/index.ts'
import { createStopScanner } from '../../text/index.ts'
import type { SimCluster } from './cluster.ts'
import type { SimContext } from './context.ts'
import { VOCAB } from './model.ts'
import { letterDetokenizer, letterOf } from './text.ts'
import { Link } from './world.ts'

const TENANTS = ['a', 'b', 'c'] as const
const END_IDS = [0, 1, 2]

interface Client {
  readonly exchange: Exchange
  /** As it is handed to the engine, but for the contract, which is the exchange's to give. */
  readonly wanted: Omit<EngineRequest, 'contract'>
}

/** Three tenants: each request is an exchange, as in the gateway, with the cluster behind it and somebody reading in front. */
export class Clients {
  readonly #context: SimContext
  readonly #cluster: () => SimCluster
  /** Requests with the engine; an exchange may have ended before its request has. */
  readonly #live = new Map<string, Client>()
  readonly #toRouter: Link
  #made = 0

  constructor(context: SimContext, cluster: () => SimCluster) {
    this.#context = context
    this.#cluster = cluster
    this.#toRouter = new Link(context.world)
  }

  /** Requests the engine has not ended. */
  get live(): number {
    return this.#live.size
  }

  /** Requests that reached the gateway. */
  get made(): number {
    return this.#made
  }

  deliver(requestId: string, event: EngineEvent): void {
    const client = this.#live.get(requestId)
    if (client === undefined) return
    if (event.kind === 'done' || event.kind === 'failed') this.#live.delete(requestId)
    this.#step(client, { kind: 'engine', event })
  }

  /** One of those who wait goes away. */
  disconnectOne(): void {
    const waiting = [...this.#live.values()].filter((client) => client.exchange.state() !== 'ended')
    if (waiting.length === 0) return
    this.#step(waiting[this.#context.oracle.choose('who goes', waiting.length)]!, { kind: 'client_gone' })
  }

  /** The gateway is gone, and with it every exchange: who waited sees the connection reset. */
  reset(): void {
    for (const requestId of this.#live.keys()) this.#context.tell('reset', (checker) => checker.reset(requestId))
    this.#live.clear()
    this.#toRouter.cut()
  }

  /** One more request arrives. If it is refused or held back it is answered and no more (R1, R13). */
  arrive(): void {
    const { settings } = this.#context
    const requestId = `r${this.#made++}`
    // Labels name the request, so that a schedule keeps its sense when one before it is left out.
    const choose = (what: string, among: number): number => this.#context.oracle.choose(`${requestId} ${what}`, among)
    if (!this.#context.oracle.chance(`${requestId} arrives`, 1)) return
    const { window, prefillPages, decodePages, pageSize } = settings
    const limits: ModelLimits = {
      advertisedWindow: window,
      prefillPool: prefillPages * pageSize,
      decodePool: decodePages * pageSize,
      pageSize,
    }
    const promptTokens = 1 + choose('prompt', choose('long', 10) === 9 ? window : 7)
    const n = choose('several', 5) === 4 ? 2 + choose('n', 2) : 1
    const maxOutput = 1 + choose('output', 4)
    const stops = this.#context.strikes('stopString') ? stopsOf(choose) : []
    const wanted = wantedOf(requestId, promptTokens, choose)
    const exchange = createExchange({
      endIds: END_IDS,
      logprobs: false,
      detokenizer: letterDetokenizer,
      stopScanner: () => createStopScanner(stops),
    })
    const client = { exchange, wanted }
    const verdict = judge(limits, { promptTokens, promptTokensIs: 'exact', maxOutput, n })
    this.#context.tell('asked', (checker) => checker.asked(wanted, { maxOutput, n }, stops))
    this.#step(client, { kind: 'verdict', verdict })
    if (exchange.state() === 'ended') return
    if (this.#context.strikes('heldBack')) this.#step(client, { kind: 'held_back', error: RATE_LIMITED })
    else this.#step(client, { kind: 'cleared' })
  }

  #step(client: Client, event: ExchangeEvent): void {
    const effects = client.exchange.step(event)
    this.#context.record('exchange', event, effects)
    for (const effect of effects) this.#execute(client, effect)
  }

  #execute(client: Client, effect: ExchangeEffect): void {
    const { requestId } = client.wanted
    const context = this.#context
    switch (effect.kind) {
      case 'submit': {
        const request = { ...client.wanted, contract: effect.contract }
        this.#live.set(requestId, client)
        context.tell('submitted', (checker) => checker.submitted(request))
        this.#later(() => this.#cluster().submit(request))
        break
      }
      case 'abort':
        context.tell('stopped', (checker) => checker.stopped(requestId, null))
        this.#later(() => this.#cluster().abort(requestId))
        break
      case 'finish_sequence':
        context.tell('stopped', (checker) => checker.stopped(requestId, effect.sequence))
        this.#later(() => this.#cluster().finishSequence(requestId, effect.sequence))
        break
      case 'begin':
      case 'text':
      case 'finish':
      case 'end':
        context.check('answered', (checker) => checker.answered(requestId, effect))
        break
    }
  }

  /** As everywhere: what an effect causes is stepped later and in order, never from within a step. */
  #later(run: () => void): void {
    this.#toRouter.send(this.#context.delay('gateway', 2), run)
  }
}

type Choose = (what: string, among: number) => number

const wantedOf = (requestId: string, promptTokens: number, choose: Choose): Client['wanted'] => {
  // Prompts share beginnings within a tenant and across tenants, down to the whole prompt: some pages may be used again, others
  // differ in nothing but whose they are.
  const family = choose('prompt family', 3)
  const cut = choose('own part', 16)
  return {
    requestId,
    tenant: TENANTS[choose('tenant', TENANTS.length)]!,
    model: 'sim',
    ids: Int32Array.from({ length: promptTokens }, (_, i) => (i < cut ? family : choose('id', VOCAB))),
    sampling: { temperature: 1, topP: 1, topK: 0, seed: choose('seed', 1000), topLogprobs: null },
    endIds: END_IDS,
  }
}

/** A few letters, so that some answer soon has one, and a pair, so that text is held back. */
const stopsOf = (choose: Choose): string[] => {
  const letter = (): string => letterOf(choose('stop letter', VOCAB))
  return [...Array.from({ length: 12 }, letter), letter() + letter()].slice(0, 1 + choose('stops', 13))
}

const RATE_LIMITED = {
  code: 'rate_limit_exceeded',
  message: 'too many requests',
  param: null,
  details: null,
  retryAfterSeconds: 1,
} as const
