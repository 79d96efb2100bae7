/** How a worker's last life went. */
export interface Life {
  /** It came up and could serve. */
  readonly wasReady: boolean
  readonly livedMs: number
}

export interface RestartPolicy {
  /** Milliseconds to wait before the next life. */
  next(life: Life): number
}

const FREE = 3
const STEADY_MS = 10_000
const FIRST_MS = 250
/** A worker that comes up and dies is kept coming back within its two seconds; one that never comes up is not hurried. */
const CAP_MS = { wasReady: 1_000, neverReady: 10_000 } as const

/** At once, until more than three lives in a row were short; then doubling delays, up to a cap. A long life forgives all. */
export const createRestartPolicy = (): RestartPolicy => {
  let short = 0
  return {
    next: ({ wasReady, livedMs }) => {
      short = wasReady && livedMs >= STEADY_MS ? 0 : short + 1
      if (short <= FREE) return 0
      const delay = FIRST_MS * 2 ** Math.min(short - FREE - 1, 20)
      return Math.min(delay, wasReady ? CAP_MS.wasReady : CAP_MS.neverReady)
    },
  }
}
