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

const STEADY_MS = 10_000
const FIRST_MS = 250
/** A worker that comes up and dies is kept coming back within its two seconds; one that never comes up is not hurried. */
const SERVED = { freeLives: 10, capMs: 500 } as const
const NEVER_READY = { freeLives: 3, capMs: 10_000 } as const

/** At once, until too many lives in a row were short; then doubling delays, up to a cap. A long life forgives all. */
export const createRestartPolicy = (): RestartPolicy => {
  let short = 0
  return {
    next: ({ wasReady, livedMs }) => {
      short = wasReady && livedMs >= STEADY_MS ? 0 : short + 1
      const { freeLives, capMs } = wasReady ? SERVED : NEVER_READY
      if (short <= freeLives) return 0
      return Math.min(FIRST_MS * 2 ** Math.min(short - freeLives - 1, 20), capMs)
    },
  }
}
