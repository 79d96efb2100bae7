import { type PageWatch, pageStates } from '../../kv/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { type FaultName, faultNames } from './faults.ts'

/** How often each thing was seen, by name. What was to be seen and was not stands there with 0. */
export type Tally = Readonly<Record<string, number>>

export interface CoverageReport {
  /** What the machines were told, by machine and kind. */
  readonly events: Tally
  /** Page states, as pairs. */
  readonly transitions: Tally
  /** What was done to the cluster. */
  readonly faults: Tally
  /** What the machines refused, and under which rule. */
  readonly refusals: Tally
  /** Moments that are easily missed. */
  readonly situations: Tally
}

const under = (prefix: string, names: readonly string[]): string[] => names.map((name) => `${prefix}.${name}`)

const WORKER_EVENTS = ['start', 'link_up', 'link_down', 'forward_done', 'scrubbed', 'swept']
const EVENTS = [
  ...under('router', ['submit', 'abort', 'finish_sequence', 'worker_down', 'tick']),
  ...under('router.from_prefill', ['hello', 'channel', 'declined', 'failed', 'prefilled', 'released']),
  ...under('router.from_decode', ['hello', 'channel', 'reserved', 'declined', 'armed', 'token', 'finished', 'failed']),
  'router.from_decode.released',
  ...under('prefill', [...WORKER_EVENTS, 'message.prefill', 'message.abort', 'peer.lease_closed']),
  ...under('prefill', ['layer_done', 'page_sent', 'page_published', 'page_verified', 'flush_prefixes']),
  'prefill.page_sent.lease_gone',
  ...under('decode', [...WORKER_EVENTS, 'message.reserve', 'message.abort', 'message.finish_sequence', 'page_frame']),
  ...under('decode', ['manifest', 'placed.ok', 'placed.bad_seal', 'copied', 'acknowledged']),
  ...under('exchange', ['verdict.admitted', 'verdict.refused', 'cleared', 'held_back', 'client_gone']),
  ...under('exchange.engine', ['queued', 'started', 'cached', 'token', 'sequence_finished', 'done', 'failed']),
]

const pair = (from: string, to: string): string => `${from} → ${to}`
const TRANSITIONS = [
  pair('free', 'reserved'),
  pair('reserved', 'filling'),
  pair('filling', 'sealed'),
  pair('reserved', 'draining'),
  pair('filling', 'draining'),
  pair('sealed', 'draining'),
  pair('draining', 'free'),
  pair('reserved', 'quarantined'),
  pair('filling', 'quarantined'),
  pair('sealed', 'quarantined'),
  pair('draining', 'quarantined'),
  pair('quarantined', 'free'),
]

const REFUSALS = [
  ...under('discard', ['unknown_lease', 'wrong_identity', 'out_of_bounds', 'duplicate', 'closed']),
  // For want of room hardly ever: the router's mirror of the pools guesses low.
  ...under('declined', ['bad_ticket', 'lease_over']),
  ...under('failed', ['kv_integrity', 'contract_mismatch', 'worker_lost', 'bad_ticket', 'internal']),
  ...under('failed', ['queue_full', 'queue_timeout', 'unavailable']),
  ...under('R4', ['page_rows', 'pages', 'rows', 'layers', 'digest']),
  ...under('R5', ['page_tag', 'unfilled_row', 'guard_row', 'write_order']),
  ...under('R8', ['bad_seal']),
  ...under('R10', ['row_misnamed']),
]

/** Where a request stands when something happens to it. */
export const stages = ['queued', 'reserving', 'prefilling', 'prefilled', 'running', 'answering'] as const
export type Stage = (typeof stages)[number]

const SITUATIONS = [
  ...stages.map((stage) => `abort while ${stage}`),
  'abort after the end',
  'pass ends after its request',
  'worker lost with requests on it',
  'pool comes back smaller',
  'store landed',
  'store landed after its lease was closed',
  'writer ends in mid-store',
  'pages quarantined for their writer',
  'pages let go since acknowledged',
  'pages let go since writer_ended',
]

type Kinded = { readonly kind: string }

/** The second half of an event's name, where its kind alone says too little. */
const detailOf = (event: Kinded): string => {
  if ('message' in event) return (event.message as Kinded).kind
  if ('outcome' in event) return event.outcome as string
  if ('verdict' in event) return (event.verdict as Kinded).kind
  if ('event' in event) return (event.event as Kinded).kind
  if ('fault' in event && typeof event.fault === 'string') return event.fault
  return ''
}

const refusalOf = (effect: Kinded): string | null => {
  if (effect.kind === 'discard' && 'reason' in effect) return `discard.${effect.reason}`
  const word = 'message' in effect ? effect.message : 'event' in effect ? effect.event : null
  if (word === null) return null
  const said = word as Kinded & { readonly code?: string; readonly rule?: string; readonly fault?: string }
  if (said.kind === 'integrity_fault') return `${said.rule}.${said.fault}`
  return said.kind === 'declined' || said.kind === 'failed' ? `${said.kind}.${said.code}` : null
}

/** What becomes of pages that a writer beyond decode's reach may still store into. */
const fencingOf = (effect: Kinded): string | null => {
  if (effect.kind !== 'telemetry' || !('event' in effect)) return null
  const event = effect.event as TelemetryEvent
  if (event.kind === 'lease_fenced') return 'pages quarantined for their writer'
  return event.kind === 'lease_released' ? `pages let go since ${event.by}` : null
}

/** Counts what a run saw, over as many seeds as it likes. */
export class Coverage {
  readonly #events = new Map<string, Map<string, Map<string, number>>>()
  readonly #moves = new Uint32Array(pageStates.length * pageStates.length)
  readonly #faults = new Map<string, number>(faultNames.map((name) => [name, 0]))
  readonly #refusals = new Map<string, number>(REFUSALS.map((name) => [name, 0]))
  readonly #situations = new Map<string, number>(SITUATIONS.map((name) => [name, 0]))
  readonly watch: PageWatch = (from, to) => {
    this.#moves[from * pageStates.length + to]!++
  }

  /** One event of a machine and what it answered. Names are put together at the end, not at each of a million events. */
  record(machine: string, event: Kinded, effects: readonly Kinded[]): void {
    const { kind } = event
    const detail = detailOf(event)
    let kinds = this.#events.get(machine)
    if (kinds === undefined) {
      kinds = new Map()
      this.#events.set(machine, kinds)
    }
    let details = kinds.get(kind)
    if (details === undefined) {
      details = new Map()
      kinds.set(kind, details)
    }
    add(details, detail)
    for (const effect of effects) {
      const refusal = refusalOf(effect)
      if (refusal !== null) add(this.#refusals, refusal)
      const fencing = fencingOf(effect)
      if (fencing !== null) add(this.#situations, fencing)
    }
  }

  fault(name: FaultName): void {
    add(this.#faults, name)
  }

  situation(name: string): void {
    add(this.#situations, name)
  }

  report(): CoverageReport {
    const events = new Map(EVENTS.map((name) => [name, 0]))
    for (const [machine, kinds] of this.#events)
      for (const [kind, details] of kinds)
        for (const [detail, times] of details) events.set([machine, kind, detail].filter(Boolean).join('.'), times)
    const transitions = new Map(TRANSITIONS.map((name) => [name, 0]))
    for (const [from, source] of pageStates.entries())
      for (const [to, target] of pageStates.entries()) {
        const times = this.#moves[from * pageStates.length + to]!
        if (times > 0) transitions.set(pair(source, target), times)
      }
    return {
      events: Object.fromEntries(events),
      transitions: Object.fromEntries(transitions),
      faults: Object.fromEntries(this.#faults),
      refusals: Object.fromEntries(this.#refusals),
      situations: Object.fromEntries(this.#situations),
    }
  }
}

/** Names of what a run never saw, each with its table. */
export const unseen = (report: CoverageReport): readonly string[] =>
  Object.entries(report).flatMap(([table, tally]) =>
    Object.entries(tally as Tally)
      .filter(([, times]) => times === 0)
      .map(([name]) => `${table}: ${name}`),
  )

const add = (tally: Map<string, number>, name: string): void => {
  tally.set(name, (tally.get(name) ?? 0) + 1)
}
