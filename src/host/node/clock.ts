import type { Clock, Timers } from '../types.ts'

/** `now` is the system's monotonic clock: the same for all processes of this machine, so that tickets can name a time. */
export const nodeClock: Clock = {
  now: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
  wall: () => Date.now(),
}

export const nodeTimers: Timers = {
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds)
    return { cancel: () => clearTimeout(timer) }
  },
}
