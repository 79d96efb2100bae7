import type { Clock, Timers } from '../types.ts'

export const nodeClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
}

export const nodeTimers: Timers = {
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds)
    return { cancel: () => clearTimeout(timer) }
  },
}
