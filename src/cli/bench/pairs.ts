/** One way of doing a piece of work; resolves to the milliseconds of what counts. */
export type Arm = () => Promise<number>

export interface PairOptions {
  readonly pairs: number
  /** Pairs go on, up to five times `pairs`, until half the interval is at most so many per cent; default 0.25. */
  readonly precise?: number
  readonly onProgress?: (pairs: number) => void
}

/** By how many per cent the first arm took longer than the second. */
export interface Overhead {
  readonly pairs: number
  readonly median: number
  /** 95 % interval of the median. */
  readonly low: number
  readonly high: number
  /** Median milliseconds of the second arm: what the percentage is of. */
  readonly baseMs: number
}

const PRECISE = 0.25
const MOST = 5
const WARM_UP = 20
const STEP = 200

/**
 * Alternates two arms step by step, so that whatever else the machine does meets both. Which one goes first follows the
 * Thue-Morse sequence: neither a drift nor anything periodic favours one.
 */
export async function measurePairs(on: Arm, off: Arm, options: PairOptions): Promise<Overhead> {
  const { pairs, precise = PRECISE, onProgress = () => undefined } = options
  for (let i = 0; i < WARM_UP; i++) {
    await on()
    await off()
  }
  const ratios: number[] = []
  const bases: number[] = []
  for (;;) {
    const onFirst = thueMorse(ratios.length)
    const first = await (onFirst ? on() : off())
    const second = await (onFirst ? off() : on())
    const [with_, without] = onFirst ? [first, second] : [second, first]
    ratios.push(100 * (with_ / without - 1))
    bases.push(without)
    if (ratios.length % STEP === 0) onProgress(ratios.length)
    const beyond = ratios.length - pairs
    if (beyond < 0 || (beyond % STEP !== 0 && ratios.length < MOST * pairs)) continue
    const overhead = overheadOf(ratios, bases)
    if (overhead.high - overhead.low <= 2 * precise || ratios.length >= MOST * pairs) return overhead
  }
}

/** Median with the interval that order statistics give it (binomial, normal approximation), whatever the distribution. */
export function overheadOf(ratios: readonly number[], bases: readonly number[]): Overhead {
  const sorted = [...ratios].sort((a, b) => a - b)
  const below = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2) - 1)
  return {
    pairs: sorted.length,
    median: middle(sorted),
    low: sorted[below]!,
    high: sorted[sorted.length - 1 - below]!,
    baseMs: middle([...bases].sort((a, b) => a - b)),
  }
}

function middle(sorted: readonly number[]): number {
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}

/** Parity of the ones in a number's binary form. */
function thueMorse(n: number): boolean {
  let odd = false
  for (let rest = n; rest > 0; rest = Math.floor(rest / 2)) if (rest % 2 === 1) odd = !odd
  return odd
}
