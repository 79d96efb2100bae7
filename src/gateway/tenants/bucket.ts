/**
 * A token bucket that refills continuously and holds one minute's worth. A cost above the capacity is let through when the bucket is
 * full and leaves a debt: a rate never answers "can never" (R13). Times in milliseconds of a monotonic clock.
 */
export interface Bucket {
  readonly capacity: number
  /** 0 when `cost` may be taken now, else milliseconds until it may. */
  wait(cost: number, now: number): number
  take(cost: number, now: number): void
  /** Gives back what was reserved and not used. */
  refund(amount: number, now: number): void
  /** Whole units that may be taken now, never below 0. */
  remaining(now: number): number
  /** Milliseconds until it is full. */
  untilFull(now: number): number
}

const minute = 60_000

export const createBucket = (perMinute: number, start: number): Bucket => {
  let level = perMinute
  let at = start
  const refill = (now: number): void => {
    level = Math.min(perMinute, level + (Math.max(0, now - at) * perMinute) / minute)
    at = Math.max(at, now)
  }
  const until = (target: number): number => Math.max(0, Math.ceil(((target - level) * minute) / perMinute))
  return {
    capacity: perMinute,
    wait(cost, now): number {
      refill(now)
      return until(Math.min(cost, perMinute))
    },
    take(cost, now): void {
      refill(now)
      level -= cost
    },
    refund(amount, now): void {
      refill(now)
      level = Math.min(perMinute, level + amount)
    },
    remaining(now): number {
      refill(now)
      return Math.max(0, Math.floor(level))
    },
    untilFull(now): number {
      refill(now)
      return until(perMinute)
    },
  }
}
