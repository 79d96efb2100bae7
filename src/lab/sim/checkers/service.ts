import type { FaultProfile } from '../faults.ts'
import { benignFaults } from '../faults.ts'
import type { Checker } from './checker.ts'

/** Pressure, not fault (R13). */
const PRESSURE = ['queue_full', 'queue_timeout']

/** Where nothing went wrong nothing fails: without it a cluster that refuses everybody would satisfy all other checkers. */
export const calmService = (faults: FaultProfile): Checker => {
  const calm = Object.entries(faults).every(
    ([name, rate]) => rate === 0 || benignFaults.some((benign) => benign === name),
  )
  if (!calm) return { name: 'calm_service' }
  return {
    name: 'calm_service',
    delivered: (requestId, event) =>
      event.kind === 'failed' && !PRESSURE.includes(event.code)
        ? `${requestId} failed with ${event.code} though nothing went wrong`
        : null,
  }
}
