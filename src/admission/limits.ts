import { AdmissionError } from './errors.ts'
import type { Bound, ModelLimits } from './types.ts'

/** Tokens a pool holds in whole pages. */
export function usable(pool: number, pageSize: number): number {
  return Math.floor(pool / pageSize) * pageSize
}

/**
 * The largest L for which every prompt of L − 1 tokens with one token of output is admissible (R2). One token of output
 * breaks a bound exactly when the prompt alone does, so it is the smallest of the three limits.
 */
export function effectiveWindow(limits: ModelLimits): number {
  return smallest(promptLimits(limits)).tokens
}

/** What a completion is measured against: the smaller of the advertised window and the usable decode pool. */
export function completionWindow(limits: ModelLimits): number {
  return Math.min(limits.advertisedWindow, usable(limits.decodePool, limits.pageSize))
}

export interface Limit {
  readonly bound: Bound
  readonly tokens: number
}

/** The three limits a prompt and one token must fit, in the order that decides between equals. */
export function promptLimits({ advertisedWindow, prefillPool, decodePool, pageSize }: ModelLimits): readonly Limit[] {
  return [
    { bound: 'context_window', tokens: advertisedWindow },
    { bound: 'prefill_pool', tokens: usable(prefillPool, pageSize) },
    { bound: 'decode_pool', tokens: usable(decodePool, pageSize) },
  ]
}

/** The first of the smallest. */
export function smallest(limits: readonly Limit[]): Limit {
  return limits.reduce((least, limit) => (limit.tokens < least.tokens ? limit : least))
}

/** Throws AdmissionError `invalid_limits` unless all are whole numbers that can mean something. */
export function assertLimits(limits: ModelLimits): void {
  const { advertisedWindow, prefillPool, decodePool, pageSize } = limits
  const whole = [advertisedWindow, prefillPool, decodePool].every((value) => Number.isSafeInteger(value) && value >= 0)
  if (whole && Number.isSafeInteger(pageSize) && pageSize > 0) return
  throw new AdmissionError({
    code: 'invalid_limits',
    message: 'limits must be whole numbers, the page size above 0',
    details: { advertisedWindow, prefillPool, decodePool, pageSize },
  })
}
