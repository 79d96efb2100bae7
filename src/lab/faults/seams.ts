import type {
  DecodeEffect,
  DecodeEvent,
  Decoder,
  ManifestFrame,
  PageFrame,
  PrefillEffect,
  PrefillEvent,
  Prefiller,
} from '../../cluster/index.ts'
import type { ForwardPlan } from '../../model/index.ts'
import type { LeaseSink, PageSink } from '../../runtime/index.ts'
import type { Role } from '../../telemetry/index.ts'
import type { Guards } from './rules.ts'
import type { Sabotage } from './sabotage.ts'

/** What becomes of the frames on their way; each tap hands on what it wants to, when it wants to. The rows are its own. */
export interface FrameTaps {
  readonly page?: (frame: PageFrame, rows: Uint8Array, deliver: (frame: PageFrame, rows: Uint8Array) => void) => void
  readonly manifest?: (frame: ManifestFrame, deliver: (frame: ManifestFrame) => void) => void
}

export const tapChannel =
  ({ page, manifest }: FrameTaps): NonNullable<Sabotage['channel']> =>
  (next: PageSink & LeaseSink) => ({
    ...next,
    sendPage: (frame, rows, written) => {
      if (page === undefined) return next.sendPage(frame, rows, written)
      page(frame, rows.slice(), (...parcel) => void next.sendPage(...parcel, () => undefined))
      written()
      return true
    },
    sendManifest: (frame) => {
      if (manifest === undefined) return next.sendManifest(frame)
      manifest(frame, (parcel) => void next.sendManifest(parcel))
      return true
    },
  })

/** A decode machine whose events and effects pass through `step`; all else is the machine's own. */
export const tapDecode =
  (step: (machine: Decoder, event: DecodeEvent) => DecodeEffect[]): NonNullable<Sabotage['decode']> =>
  (machine) => ({
    step: (event) => step(machine, event),
    poolUse: () => machine.poolUse(),
    poolCounts: () => machine.poolCounts(),
    audit: () => machine.audit(),
  })

/**
 * Decode stores the row of its last prompt token, whatever stands there: what an engine does whose first step is like every
 * other. Where R5 is on, a row that stands is not written again, and the plan stays as it is.
 */
export const storesLastRow =
  (guards: Guards): NonNullable<Sabotage['plan']> =>
  (role: Role, plan: ForwardPlan) =>
    role === 'prefill' || guards.has('R5')
      ? plan
      : { ...plan, sequences: plan.sequences.map((sequence) => ({ ...sequence, write: 'append' })) }

/** As `tapDecode`, for prefill. */
export const tapPrefill =
  (step: (machine: Prefiller, event: PrefillEvent) => PrefillEffect[]): NonNullable<Sabotage['prefill']> =>
  (machine) => ({
    step: (event) => step(machine, event),
    poolUse: () => machine.poolUse(),
    poolCounts: () => machine.poolCounts(),
    audit: () => machine.audit(),
  })

/** Of each head's keys, then of each head's values, the first rows. */
export function firstRows(bytes: Uint8Array, rows: number, kept: number): Uint8Array {
  const parts = bytes.length / rows
  const width = HEAD_BYTES
  const out = new Uint8Array(parts * kept)
  for (let part = 0; part * width < parts; part++)
    out.set(bytes.subarray(part * rows * width, part * rows * width + kept * width), part * kept * width)
  return out
}

/** Bytes of one head's row: 64 floats in `recall`. */
const HEAD_BYTES = 256

/** Something that happens once. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
