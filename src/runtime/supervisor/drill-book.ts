import type { DetectorState } from '../../cluster/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { DETECTORS, type Detector, type DrillFinding, detectorsOf } from '../drills/index.ts'
import type { EngineTransport } from '../transport.ts'
import type { WorkerRole } from '../worker/ipc.ts'

/** A drill that is older than so many intervals proves nothing any more. */
const STALE_AFTER = 2

interface Entry {
  state: DetectorState['state']
  detail: string | null
  drilledAt: number | null
}

export interface DrillBookOptions {
  readonly model: string
  readonly integrity: 'full' | 'tags'
  readonly transport: EngineTransport
  readonly everyMs: number
  readonly now: () => number
  readonly telemetry: (event: TelemetryEvent) => void
}

const ROLES = ['prefill', 'decode'] as const

/**
 * What is known of each detector of one model (R14): armed, stale, failed, or unknown, which it is until its worker's first
 * drill and again from that worker's end on. Tells of each change but those of a worker's end, which is an event of its own.
 */
export class DrillBook {
  readonly #options: DrillBookOptions
  readonly #entries: Readonly<Record<WorkerRole, Map<Detector, Entry>>>

  constructor(options: DrillBookOptions) {
    this.#options = options
    const unknown = (): Map<Detector, Entry> =>
      new Map(detectorsOf(options).map((detector) => [detector, { state: 'unknown', detail: null, drilledAt: null }]))
    this.#entries = { prefill: unknown(), decode: unknown() }
  }

  /** A drill's findings. What it says nothing of stays as it was, and grows stale. */
  drilled(role: WorkerRole, findings: readonly DrillFinding[]): void {
    const drilledAt = this.#options.now()
    for (const { detector, armed, detail } of findings) {
      const entry = this.#entries[role].get(detector)
      if (entry === undefined) continue
      entry.drilledAt = drilledAt
      entry.detail = detail
      this.#move(role, detector, entry, armed ? 'armed' : 'failed')
    }
  }

  /** The worker's life is over, and what was known of it with it. */
  forget(role: WorkerRole): void {
    for (const entry of this.#entries[role].values()) {
      entry.state = 'unknown'
      entry.detail = null
      entry.drilledAt = null
    }
  }

  /** Notices what has grown stale. */
  review(): void {
    const limit = this.#options.now() - STALE_AFTER * this.#options.everyMs
    for (const role of ROLES) {
      for (const [detector, entry] of this.#entries[role])
        if (entry.state === 'armed' && entry.drilledAt !== null && entry.drilledAt < limit)
          this.#move(role, detector, entry, 'stale')
    }
  }

  states(): readonly DetectorState[] {
    this.review()
    const now = this.#options.now()
    return ROLES.flatMap((role) =>
      [...this.#entries[role]].map(([detector, { state, drilledAt }]) => ({
        role,
        detector,
        rule: DETECTORS[detector],
        state,
        ageSeconds: drilledAt === null ? null : (now - drilledAt) / 1_000,
      })),
    )
  }

  /** Why the model must not serve, in a phrase that names the detector; null if every one is armed or was. */
  objection(): string | null {
    for (const wanted of ['failed', 'unknown'] as const) {
      for (const role of ROLES) {
        for (const [detector, { state, detail }] of this.#entries[role]) {
          if (state !== wanted) continue
          const named = `${role} detector ${detector} (${DETECTORS[detector]})`
          return state === 'failed' ? `${named} failed its drill: ${detail}` : `${named} was not drilled yet`
        }
      }
    }
    return null
  }

  /** A drill failed in either worker. */
  get failed(): boolean {
    return ROLES.some((role) => [...this.#entries[role].values()].some(({ state }) => state === 'failed'))
  }

  #move(role: WorkerRole, detector: Detector, entry: Entry, state: DetectorState['state']): void {
    if (entry.state === state) return
    entry.state = state
    const { model, telemetry } = this.#options
    telemetry({ kind: 'detector', model, role, detector, rule: DETECTORS[detector], state })
  }
}
