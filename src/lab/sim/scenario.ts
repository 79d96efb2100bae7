import { issueTicket, tokenDigest } from '../../admission/index.ts'
import {
  type DecodeEffect,
  type DecodeEvent,
  DecodeMachine,
  type Fences,
  type Lease,
  type ManifestFrame,
  type Transport,
} from '../../cluster/index.ts'
import { type FenceRule, fenceRules, fencesWithout } from '../partial-fences.ts'
import { type Checker, type CheckerName, checkersFor, type Life } from './checkers/index.ts'
import { simCrypto } from './crypto.ts'
import { noFaults } from './faults.ts'
import { type RowBytes, SimMemory, sameBytes } from './memory.ts'
import { ForwardRun } from './model.ts'
import { framesOf, type SentPage } from './scenario-frames.ts'

/** One step of a schedule as the protocol model writes it; see formal/README.md. */
export interface ScenarioStep {
  readonly actor: string
  readonly action: string
  readonly request: number | null
  readonly page: number | null
}

/**
 * What may be missing: a rule's fences, or one of two checks that are no fence but part of the receiver, which the scenario
 * then leaves out for it. `lease`: frames of closed leases are dropped. `epoch`: a lease is its id and its epoch.
 */
export type Missing = FenceRule | 'lease' | 'epoch'

/** A schedule that is forbidden, and what must be missing for it to do harm. */
export interface Scenario {
  readonly name: string
  /** The trail in `formal/` that it is. */
  readonly trail: string
  readonly without: readonly Missing[]
  /** Who sees the harm. */
  readonly checker: CheckerName
  readonly steps: readonly ScenarioStep[]
}

/** Plays a scenario against a real decode machine; null if nothing objects. `missing`: instead of the scenario's own. */
export const playScenario = (scenario: Scenario, missing: readonly Missing[] = scenario.without): string | null => {
  const stage = new Stage(scenario, missing)
  for (const step of scenario.steps) stage.play(step)
  return stage.objection
}

const PAGE_SIZE = 4
const POOL = 3
const LAYERS = 1

interface Player {
  readonly requestId: string
  readonly ids: Int32Array
  lease: Lease | null
  /** Pages of decode's pool that it was given. */
  pages: readonly number[]
  frames: SentPage[]
  readonly placings: (() => void)[]
  /** Begun by prefill itself in decode's memory (`shared`), each to be called when its bytes land. */
  readonly stores: (() => void)[]
  pass: { readonly run: ForwardRun; readonly pages: readonly number[] } | null
}

class Stage {
  objection: string | null = null
  readonly #fences: Fences
  readonly #missing: readonly Missing[]
  readonly #transport: Transport
  readonly #checkers: readonly Checker[]
  readonly #players: readonly Player[]
  #machine: DecodeMachine
  #memory: SimMemory
  #life: Life
  #now = 0

  constructor({ steps, checker }: Scenario, missing: readonly Missing[]) {
    this.#missing = missing
    this.#transport = steps.some(({ action }) => action === 'store') ? 'shared' : 'socket'
    this.#fences = fencesWithout(...fenceRules.filter((rule) => missing.includes(rule)))
    this.#checkers = checkersFor({ layers: LAYERS, faults: noFaults, publicPrefixes: [] }, [checker])
    const numbers = [...new Set(steps.map((step) => step.request).filter((one) => one !== null))]
    this.#players = numbers.map((number) => {
      const pages = steps.filter((step) => step.action === 'reserve' && step.request === number).length
      const ids = Int32Array.from({ length: pages * PAGE_SIZE - 1 }, (_, i) => 7 * number + i)
      return { requestId: `r${number}`, ids, lease: null, pages: [], frames: [], placings: [], stores: [], pass: null }
    })
    const born = this.#newLife(1)
    this.#machine = born.machine
    this.#memory = born.memory
    this.#life = born.life
  }

  play({ action, request }: ScenarioStep): void {
    const player = request === null ? null : this.#players[request]!
    if (action === 'crash') {
      const { machine, memory, life } = this.#newLife(this.#life.epoch + 1)
      this.#machine = machine
      this.#memory = memory
      this.#life = life
    } else if (player !== null) this.#act(action, player)
  }

  #act(action: string, player: Player): void {
    switch (action) {
      case 'reserve':
        if (player.lease === null) this.#reserve(player)
        break
      case 'start':
        player.frames = framesOf(player, this.#memory.shape, this.#fences, this.#numberOf(player.requestId))
        break
      case 'store':
        this.#store(player)
        break
      case 'stored':
        player.stores.shift()?.()
        break
      case 'place':
        this.#place(player)
        break
      case 'placed':
        player.placings.shift()?.()
        break
      case 'manifest':
        this.#manifest(player)
        break
      case 'abort':
        this.#step({ kind: 'message', message: { kind: 'abort', requestId: player.requestId, attempt: 1 } })
        break
      case 'read':
        this.#read(player)
        break
      default:
        // What the machine answers by itself: armed, forward, discard, home.
        break
    }
  }

  #newLife(epoch: number): { machine: DecodeMachine; memory: SimMemory; life: Life } {
    const shape = { pages: POOL, pageSize: PAGE_SIZE, layers: LAYERS, kvHeads: 1, headDim: 1 }
    const served = { model: 'sim', weights: 'w', epoch, transport: this.#transport }
    const options = { ...served, shape, fences: this.#fences, crypto: simCrypto }
    const machine = new DecodeMachine({ ...options, scrub: 'tags', sweepEvery: 0, maxBatch: 8 })
    machine.step({ kind: 'start', now: this.#now })
    return { machine, memory: new SimMemory(shape), life: { role: 'decode', epoch, pages: POOL } }
  }

  #reserve(player: Player): void {
    const { requestId, ids } = player
    const identity = { requestId, attempt: 1 }
    const claims = { ...identity, tenant: requestId, model: 'sim', weights: 'w', promptTokens: ids.length }
    const bound = { tokenDigest: tokenDigest(ids, simCrypto), maxOutput: 1, n: 1, expiresAt: 1000 }
    const ticket = issueTicket({ ...claims, ...bound }, simCrypto)
    const sampling = { temperature: 1, topP: 1, topK: 0, seed: 0, topLogprobs: null }
    this.#step({ kind: 'message', message: { kind: 'reserve', ...identity, ticket, ids, sampling, endIds: [] } })
  }

  /** Begins, if the target is still what the lease says; then nothing but the writer's end keeps the bytes from landing. */
  #store(player: Player): void {
    const sent = player.frames.shift()
    const target = player.lease?.target
    if (sent === undefined || target === undefined) return
    const { frame, bytes } = sent
    const page = target.pages[frame.ordinal]!
    const tag = { owner: target.owners[frame.ordinal]!, generation: target.generations[frame.ordinal]! }
    if (this.#fences.kernel.tags && !this.#memory.hasTag(page, tag)) return
    this.#check((checker) => checker.touchBegins?.(this.#life, [page]))
    player.stores.push(() => {
      this.#memory.place(page, 0, frame.rows, bytes)
      this.#check((checker) => checker.touchEnds?.(this.#life, [page]))
      for (const effect of this.#machine.step({ kind: 'page_frame', frame, now: ++this.#now })) {
        if (effect.kind === 'place') this.#verify(effect)
        else this.#execute(effect)
      }
    })
  }

  #place(player: Player): void {
    const sent = player.frames.shift()
    if (sent === undefined) return
    const { bytes } = sent
    const frame = { ...sent.frame, lease: this.#leaseAsRead(sent.frame.lease) }
    for (const effect of this.#machine.step({ kind: 'page_frame', frame, now: ++this.#now })) {
      if (effect.kind === 'place') this.#begin(player, effect, bytes)
      else if (effect.kind === 'discard' && effect.reason === 'unknown_lease' && this.#missing.includes('lease')) {
        const page = player.pages[frame.ordinal]!
        player.placings.push(() => this.#memory.place(page, 0, frame.rows, bytes))
      } else this.#execute(effect)
    }
  }

  /** The bytes are on their way into the page, and may be written until `placed`. */
  #begin(player: Player, effect: PlaceEffect, bytes: RowBytes): void {
    const { page, layer, rows } = effect
    this.#check((checker) => checker.touchBegins?.(this.#life, [page]))
    player.placings.push(() => {
      this.#check((checker) => checker.touchEnds?.(this.#life, [page]))
      this.#memory.place(page, layer, rows, bytes)
      this.#verify(effect)
    })
  }

  #verify({ id, page, layer, rows, seal, lineageKey }: PlaceEffect): void {
    const ok = lineageKey === null || sameBytes(this.#memory.seal(page, layer, rows, lineageKey), seal)
    if (ok) this.#memory.markFilled(page, layer, rows)
    this.#step({ kind: 'placed', id, outcome: ok ? 'ok' : 'bad_seal' })
  }

  /** Whatever was sent so far is all there was: for the placeholder, one page. */
  #manifest(player: Player): void {
    const { requestId, ids, lease, frames } = player
    const pages = Math.ceil(ids.length / PAGE_SIZE) - frames.length
    const rows = Math.min(ids.length, pages * PAGE_SIZE)
    const counts = { pages, rows, layers: LAYERS, tokenDigest: tokenDigest(ids, simCrypto) }
    const frame: ManifestFrame = {
      kind: 'manifest',
      requestId,
      attempt: 1,
      lease: this.#leaseAsRead(lease!),
      ...counts,
    }
    this.#step({ kind: 'manifest', frame })
  }

  #read(player: Player): void {
    const { pass } = player
    if (pass === null) return
    player.pass = null
    pass.run.layer(0)
    this.#check((checker) => checker.touchEnds?.(this.#life, pass.pages))
    this.#step({ kind: 'forward_done', result: pass.run.result(), seconds: 0 })
  }

  #leaseAsRead(lease: Lease): Lease {
    return this.#missing.includes('epoch') ? { ...lease, epoch: this.#life.epoch } : lease
  }

  #step(event: Untimed<DecodeEvent>): void {
    for (const effect of this.#machine.step({ ...event, now: ++this.#now } as DecodeEvent)) this.#execute(effect)
  }

  #execute(effect: DecodeEffect): void {
    switch (effect.kind) {
      case 'claim': {
        this.#check((checker) => checker.claim?.(this.#life, effect.pages, effect.owners))
        this.#memory.claim(effect.pages, effect.owners, effect.generations)
        const newcomer = this.#players.find((player) => player.lease === null)
        if (newcomer !== undefined) newcomer.pages = [...effect.pages]
        break
      }
      case 'revoke':
        this.#memory.retire(effect.pages)
        break
      case 'retire':
        this.#check((checker) => checker.retire?.(this.#life, effect.pages))
        this.#memory.retire(effect.pages)
        break
      case 'send':
        if (effect.message.kind === 'reserved') this.#playerOf(effect.message.requestId).lease = effect.message.lease
        break
      case 'forward': {
        const [sequence] = effect.plan.sequences
        const player = this.#playerOf(sequence!.requestId)
        const pages = [...sequence!.table.pages]
        this.#check((checker) => checker.touchBegins?.(this.#life, pages))
        const readers = [this.#numberOf(player.requestId)]
        const watch = (reader: number, writer: number, fresh: boolean, page: number, position: number): void =>
          this.#check((checker) => checker.read?.(reader, writer, fresh, page, true, position))
        player.pass = { run: new ForwardRun(effect.plan, this.#memory, this.#fences.kernel, readers, watch), pages }
        break
      }
      default:
        break
    }
  }

  #check(ask: (checker: Checker) => string | null | undefined): void {
    for (const checker of this.#checkers) this.objection ??= ask(checker) ?? null
  }

  #playerOf(requestId: string): Player {
    return this.#players.find((player) => player.requestId === requestId)!
  }

  #numberOf(requestId: string): number {
    return 1 + this.#players.indexOf(this.#playerOf(requestId))
  }
}

type PlaceEffect = Extract<DecodeEffect, { kind: 'place' }>
type Untimed<T> = T extends unknown ? Omit<T, 'now'> : never
