import { judge, type ModelLimits } from '../../admission/index.ts'
import type { EngineEvent, EngineRequest } from '../../cluster/index.ts'
import type { SimCluster } from './cluster.ts'
import type { SimContext } from './context.ts'
import { VOCAB } from './model.ts'

const TENANTS = ['a', 'b', 'c'] as const

/** Three tenants that send admitted requests, read their answers, stop some of them and go away from others. */
export class Clients {
  readonly #context: SimContext
  readonly #cluster: () => SimCluster
  readonly #live = new Map<string, { readonly n: number }>()
  #made = 0
  #refused = 0

  constructor(context: SimContext, cluster: () => SimCluster) {
    this.#context = context
    this.#cluster = cluster
  }

  get refused(): number {
    return this.#refused
  }

  get live(): number {
    return this.#live.size
  }

  /** Makes requests until one is admitted, and submits it. A refused one is a verdict and nothing else (R1). */
  submitOne(): void {
    const request = this.#admitted()
    this.#live.set(request.requestId, { n: request.contract.n })
    this.#context.tell('submitted', (checker) => checker.submitted(request))
    this.#cluster().submit(request)
  }

  deliver(requestId: string, event: EngineEvent): void {
    if (event.kind === 'done' || event.kind === 'failed') this.#live.delete(requestId)
    if (event.kind !== 'token' || !this.#context.oracle.chance('stop string', this.#context.faults.stopString)) return
    // As the gateway does: the answer to a token, and not from within its delivery.
    this.#context.world.after(this.#context.delay('stop string found', 1), () => {
      if (!this.#live.has(requestId)) return
      this.#context.tell('stopped', (checker) => checker.stopped(requestId, event.sequence))
      this.#cluster().finishSequence(requestId, event.sequence)
    })
  }

  /** One of those who wait goes away. */
  disconnectOne(): void {
    const waiting = [...this.#live.keys()]
    if (waiting.length === 0) return
    const requestId = waiting[this.#context.oracle.choose('who goes', waiting.length)]!
    this.#context.tell('stopped', (checker) => checker.stopped(requestId, null))
    this.#cluster().abort(requestId)
  }

  #admitted(): EngineRequest {
    const { oracle, settings } = this.#context
    const { window, prefillPages, decodePages, pageSize } = settings
    const limits: ModelLimits = {
      advertisedWindow: window,
      prefillPool: prefillPages * pageSize,
      decodePool: decodePages * pageSize,
      pageSize,
    }
    for (;;) {
      const promptTokens = 1 + oracle.choose('prompt', oracle.choose('long prompt', 6) === 0 ? window : 9)
      const n = oracle.choose('n', 5) === 0 ? 2 + oracle.choose('n', 2) : 1
      const maxOutput = 1 + oracle.choose('output', 6)
      const verdict = judge(limits, { promptTokens, promptTokensIs: 'exact', maxOutput, n })
      if (verdict.kind === 'refused') {
        this.#refused++
        continue
      }
      // Prompts share beginnings across tenants, so that only ownership tells their pages apart.
      const base = oracle.choose('prompt family', 3)
      const cut = oracle.choose('own part', 6)
      return {
        requestId: `r${this.#made++}`,
        tenant: TENANTS[oracle.choose('tenant', TENANTS.length)]!,
        model: 'sim',
        ids: Int32Array.from({ length: promptTokens }, (_, i) => (i < cut ? base : oracle.choose('id', VOCAB))),
        contract: verdict.contract,
        sampling: { temperature: 1, topP: 1, topK: 0, seed: oracle.choose('seed', 1000), topLogprobs: null },
        endIds: [0, 1, 2],
      }
    }
  }
}
