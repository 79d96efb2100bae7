import type { EngineEvent } from '../port.ts'

export type Failure = Extract<EngineEvent, { kind: 'failed' }>['code']

/** A worker is back within two seconds of its end; a place in the queue takes longer. Other failures are not for retrying. */
const RETRY_SECONDS: Partial<Record<Failure, number>> = {
  queue_full: 5,
  queue_timeout: 5,
  unavailable: 2,
  worker_lost: 2,
}

export const failure = (code: Failure): EngineEvent => ({
  kind: 'failed',
  code,
  retryAfterSeconds: RETRY_SECONDS[code] ?? null,
})
