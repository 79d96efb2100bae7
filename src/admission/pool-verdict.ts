import { assertLimits, effectiveWindow, usable } from './limits.ts'
import type { ModelLimits } from './types.ts'

export type OnShortPool = 'refuse' | 'clamp'

/** A pool that cannot hold the advertised window. */
export interface ShortPool {
  /** Also the configuration key that mends it. */
  readonly pool: 'prefill_pool' | 'decode_pool'
  /** Tokens in whole pages. */
  readonly holds: number
  /** Tokens the pool must hold for the advertised window, in whole pages. */
  readonly needs: number
}

/** May a model be served with these pools? `clamp` and `refuse` name every pool that is short. */
export type PoolVerdict =
  | { readonly kind: 'fits'; readonly effectiveWindow: number }
  | { readonly kind: 'clamp'; readonly effectiveWindow: number; readonly short: readonly ShortPool[] }
  | { readonly kind: 'refuse'; readonly short: readonly ShortPool[]; readonly message: string }

/**
 * R2 at start-up. A short pool refuses or clamps as the operator says; a model that could not serve a single token
 * (effective window below 2) is refused under either.
 */
export function poolVerdict(limits: ModelLimits, onShortPool: OnShortPool): PoolVerdict {
  assertLimits(limits)
  const { advertisedWindow, prefillPool, decodePool, pageSize } = limits
  const window = effectiveWindow(limits)
  const needs = Math.ceil(advertisedWindow / pageSize) * pageSize
  const short = (
    [
      { pool: 'prefill_pool', holds: usable(prefillPool, pageSize), needs },
      { pool: 'decode_pool', holds: usable(decodePool, pageSize), needs },
    ] as const
  ).filter(({ holds }) => holds < advertisedWindow)
  if (window < 2) {
    return { kind: 'refuse', short, message: `${shortfalls(limits, short)}; a prompt and one token need at least 2` }
  }
  if (short.length === 0) return { kind: 'fits', effectiveWindow: window }
  if (onShortPool === 'clamp') return { kind: 'clamp', effectiveWindow: window, short }
  const raise = short.map(({ pool, needs: tokens }) => `${pool} to at least ${tokens}`).join(' and ')
  return {
    kind: 'refuse',
    short,
    message:
      `${shortfalls(limits, short)}. Raise ${raise}, lower context_window to at most ${window}, ` +
      'or set on_short_pool: clamp to serve the smaller window',
  }
}

function shortfalls(limits: ModelLimits, short: readonly ShortPool[]): string {
  if (short.length === 0) return `the advertised context window is ${limits.advertisedWindow} tokens`
  const pools = short.map(({ pool, holds }) => `${pool} holds ${holds} tokens`).join(' and ')
  return `${pools}, but the advertised context window is ${limits.advertisedWindow} tokens`
}
