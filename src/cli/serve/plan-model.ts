import { effectiveWindow, type ModelLimits, type OnShortPool, poolVerdict } from '../../admission/index.ts'
import type { Clock } from '../../host/index.ts'
import { inspectModel, type ModelInspection } from '../../model/index.ts'
import { type EngineTransport, poolProblem } from '../../runtime/index.ts'
import { createTextSide, type TextSide } from './prompt-model.ts'

/** One model as the operator asks for it. */
export interface WantedModel {
  readonly id: string
  /** Path of the GGUF file. */
  readonly weights: string
  /** Null: what the file says. Never above it. */
  readonly contextWindow: number | null
  readonly onShortPool: OnShortPool
  readonly prefillPool: number
  readonly decodePool: number
  readonly pageSize: number
  readonly transport: EngineTransport
}

export interface PlannedModel {
  readonly kind: 'ok'
  readonly wanted: WantedModel
  readonly inspection: ModelInspection
  readonly limits: ModelLimits
  readonly text: TextSide
  /** What an operator should know: conversions, a clamped window. */
  readonly notes: readonly string[]
}

/** `message` is one line that names the model and what is wrong with it. */
export type PlanResult = PlannedModel | { readonly kind: 'refused'; readonly message: string }

/** Judges a model before anything listens: file, tokenizer, template, window, pools (R2). The clock bounds the template's trial. */
export async function planModel(wanted: WantedModel, clock: Clock): Promise<PlanResult> {
  const refused = (message: string): PlanResult => ({ kind: 'refused', message: `model ${wanted.id}: ${message}` })
  const inspection = await inspectModel(wanted.weights)
  if (inspection.kind !== 'ok') return refused(inspection.message)
  const fileWindow = inspection.shape.contextLength
  if (wanted.contextWindow !== null && wanted.contextWindow > fileWindow) {
    return refused(
      `context_window ${wanted.contextWindow} is above the ${fileWindow} positions of the file; lower context_window to at most ${fileWindow}`,
    )
  }
  const limits: ModelLimits = {
    advertisedWindow: wanted.contextWindow ?? fileWindow,
    prefillPool: wanted.prefillPool,
    decodePool: wanted.decodePool,
    pageSize: wanted.pageSize,
  }
  const pools = poolVerdict(limits, wanted.onShortPool)
  if (pools.kind === 'refuse') return refused(pools.message)
  const problem = poolProblem({ ...wanted, shape: inspection.shape })
  if (problem !== null) return refused(problem)
  const window = effectiveWindow(limits)
  const text = createTextSide(wanted.id, inspection, countingLimit(window), clock)
  if (text.kind === 'refused') return refused(text.message)
  const clamped =
    pools.kind === 'clamp'
      ? [`serves an effective window of ${window} tokens, less than the advertised ${limits.advertisedWindow}`]
      : []
  return { kind: 'ok', wanted, inspection, limits, text: text.text, notes: [...inspection.notes, ...clamped] }
}

/** Bytes of KV in one page of decode over all layers. */
export function pageBytes(model: PlannedModel): number {
  return model.inspection.kvBytesPerToken * model.wanted.pageSize
}

export function effectiveWindowOf(model: PlannedModel): number {
  return effectiveWindow(model.limits)
}

/**
 * Ids after which counting a prompt stops. Well above the window, so that the refusal of a prompt that is somewhat too long
 * names its real count; bounded, so that a hopeless one costs no more than that.
 */
function countingLimit(window: number): number {
  return Math.max(4 * window, 65_536)
}
