import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { FenceRule } from '../partial-fences.ts'
import { ANSWER_TOKENS, type Cast } from './scenario.ts'
import type { Stage, StageReply } from './stage.ts'

/** What came of tenant B's over-long request on one engine. */
export interface Act {
  readonly status: number
  /** Does tenant A's code stand in tenant B's answer? */
  readonly harmed: boolean
  /** B's answer, or the error's message. */
  readonly text: string
  readonly code: string | null
  readonly bound: string | null
  /** Decode pages reserved for B in all, and pages that arrived. */
  readonly pagesReserved: number
  readonly pagesArrived: number
  /** The check that ended it, where one did. */
  readonly caught: { readonly rule: string; readonly fault: string; readonly page: number } | null
}

export interface LeakReport {
  readonly cast: Cast
  readonly unguarded: Act
  readonly bulkhead: Act
  readonly single: readonly (Act & { readonly rule: FenceRule })[]
  readonly seconds: number
}

export const SINGLE_RULES: readonly FenceRule[] = ['R4', 'R5', 'R8']

/** Pages of decode that were reserved, and pages that ever held rows of the present request, seen from outside. */
class PageWatch {
  #reserved = 0
  #arrived = 0

  /** `cells`: the decode pool as the operator's page shows it. Once decode has stepped, a page with rows proves no arrival. */
  see(cells: string, decodeHasStepped: boolean): void {
    const reserved = count(cells, (cell) => cell !== '.')
    this.#reserved = Math.max(this.#reserved, reserved)
    if (decodeHasStepped) return
    const withRows = count(cells, (cell) => cell === 'f' || cell === 's')
    this.#arrived = Math.max(this.#arrived, withRows)
  }

  get counts(): Pick<Act, 'pagesReserved' | 'pagesArrived'> {
    return { pagesReserved: this.#reserved, pagesArrived: this.#arrived }
  }
}

export interface PlayHooks {
  /** After tenant A was served, before tenant B's request. */
  readonly beforeB?: () => Promise<void>
  /** After every step of either worker. */
  readonly onSee?: () => void
}

/** Tenant A asks for its code and gets it; then tenant B sends the over-long prompt. */
export async function play(stage: Stage, cast: Cast, hooks: PlayHooks = {}): Promise<Act> {
  const first = await stage.ask(cast.a, ANSWER_TOKENS)
  if (!textOf(first).includes(cast.a.code)) throw new Error(`tenant A did not get its own code: HTTP ${first.status}`)
  await hooks.beforeB?.()
  const watch = new PageWatch()
  const seen = stage.events.length
  const isDecodeStep = (event: TelemetryEvent): boolean => event.kind === 'step' && event.role === 'decode'
  stage.observe(({ decode }) => {
    watch.see(decode.cells, stage.events.slice(seen).some(isDecodeStep))
    hooks.onSee?.()
  })
  const reply = await stage.ask(cast.b, ANSWER_TOKENS)
  return { ...actOf(reply, cast), ...watch.counts, caught: caughtIn(stage.events.slice(seen)) }
}

function actOf(reply: StageReply, cast: Cast): Omit<Act, 'pagesReserved' | 'pagesArrived' | 'caught'> {
  const text = textOf(reply)
  const error = (reply.body as { error?: { message: string; code: string | null; details?: { bound?: string } } }).error
  return {
    status: reply.status,
    harmed: text.includes(cast.a.code),
    text: error?.message ?? text,
    code: error?.code ?? null,
    bound: error?.details?.bound ?? null,
  }
}

function textOf(reply: StageReply): string {
  const choices = (reply.body as { choices?: readonly { text: string }[] }).choices
  return choices?.[0]?.text ?? ''
}

function caughtIn(events: readonly TelemetryEvent[]): Act['caught'] {
  const found = events.find((event) => event.kind === 'integrity_fault')
  return found === undefined ? null : { rule: found.rule, fault: found.fault, page: found.page }
}

function count(cells: string, wanted: (cell: string) => boolean): number {
  return [...cells].filter(wanted).length
}
