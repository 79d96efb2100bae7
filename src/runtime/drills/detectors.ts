import type { EngineTransport } from '../transport.ts'

/** Every detector that a worker drills, with the rule it serves. A name is stable: it stands in metrics and events. */
export const DETECTORS = {
  ticket: 'R3',
  contract: 'R4',
  stale_handle: 'R5',
  unfilled_page: 'R5',
  page_tag: 'R5',
  unfilled_row: 'R5',
  guard_row: 'R5',
  guard_sweep: 'R5',
  write_order: 'R5',
  not_finite: 'R5',
  closed_lease: 'R6',
  fenced_free: 'R6',
  conservation: 'R7',
  seal: 'R8',
  frame_identity: 'R10',
  row_identity: 'R10',
  frame_mac: 'R10',
  batch_invariance: 'R15',
} as const

export type Detector = keyof typeof DETECTORS
export const detectors = Object.keys(DETECTORS) as readonly Detector[]

/** What one drill found. */
export interface DrillFinding {
  readonly detector: Detector
  /** It fired on everything that was planted, and was silent on the honest case. */
  readonly armed: boolean
  /** What happened instead, in a phrase; null when armed. */
  readonly detail: string | null
}

/**
 * Detectors of a worker with these settings: `integrity: tags` serves without seals, which `/ready` says of the model; over
 * `transport: shared` no frame crosses a wire.
 */
export const detectorsOf = ({
  integrity,
  transport,
}: {
  readonly integrity: 'full' | 'tags'
  readonly transport: EngineTransport
}): readonly Detector[] =>
  detectors.filter(
    (detector) =>
      !(detector === 'seal' && integrity === 'tags') && !(detector === 'frame_mac' && transport === 'shared'),
  )

/** One case of a drill: `honest` ones must pass, the others must be caught, and by the detector that is drilled. */
export interface DrillCase {
  readonly name: string
  readonly expected: string
  /** What was seen; an error's message where the case threw. */
  readonly seen: string
}

/** A detector is armed when every case of its drill went as expected. */
export const findingOf = (detector: Detector, cases: readonly DrillCase[]): DrillFinding => {
  const wrong = cases.find(({ expected, seen }) => expected !== seen)
  const detail = wrong === undefined ? null : `${wrong.name}: expected ${wrong.expected}, saw ${wrong.seen}`
  return { detector, armed: wrong === undefined, detail }
}

/** Runs a case; what throws was not caught by the detector, and is told. */
export const drillCase = (name: string, expected: string, see: () => string): DrillCase => {
  try {
    return { name, expected, seen: see() }
  } catch (error) {
    return { name, expected, seen: `an error (${error instanceof Error ? error.message : 'unknown'})` }
  }
}
