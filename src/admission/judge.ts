import { AdmissionError } from './errors.ts'
import {
  assertLimits,
  completionWindow,
  effectiveWindow,
  type Limit,
  promptLimits,
  smallest,
  usable,
} from './limits.ts'
import type { Bound, Contract, Demand, ModelLimits, Verdict } from './types.ts'

/** Output tokens per sequence where the client set no limit and the operator no other default. */
export const DEFAULT_MAX_TOKENS = 1024

/**
 * R2: may this request ever be served? Depends on hard limits alone (R13), so the same demand gets the same verdict
 * whatever the load. Admitted: prompt + 1 ≤ prefill pool, prompt + output × n ≤ advertised window, and the pages of all
 * n sequences fit the decode pool. No set limit on output: legal wherever one token fits; the contract is then what room
 * is left, at most `defaultMaxTokens`.
 *
 * Which bound is named: a prompt that could not be served even with one token of output and n = 1 is judged first, then
 * the completion; of the limits broken, the smallest; of equals, context_window, prefill_pool, decode_pool in this order.
 *
 * Throws AdmissionError for limits or demands that are not counts, and for a floor (`at_least`) that breaks nothing:
 * an uncounted prompt is never admitted.
 */
export function judge(limits: ModelLimits, demand: Demand, defaultMaxTokens: number = DEFAULT_MAX_TOKENS): Verdict {
  assertLimits(limits)
  assertDemand(demand, defaultMaxTokens)
  const { promptTokens, maxOutput, n } = demand
  const room = smallest(promptLimits(limits))
  if (promptTokens + 1 > room.tokens) {
    return refuse(demand, room.bound, 'prompt', (maxOutput ?? 0) * n, effectiveWindow(limits))
  }
  if (demand.promptTokensIs === 'at_least') {
    throw new AdmissionError({
      code: 'invalid_demand',
      message: 'counting stopped before any limit was passed',
      details: { promptTokens, limit: room.tokens },
    })
  }
  const most = mostOutput(limits, promptTokens, n)
  const output = maxOutput ?? Math.min(Math.max(most, 1), defaultMaxTokens)
  if (output > most) {
    const bound = completionBound(limits, promptTokens, output, n)
    return refuse(demand, bound, 'completion', output * n, completionWindow(limits))
  }
  return { kind: 'admitted', contract: contractOf(limits.pageSize, promptTokens, output, n) }
}

/** Pages decode holds for n sequences: the prompt's full pages once, and each sequence's own tail rounded up. */
export function decodePages(pageSize: number, promptTokens: number, output: number, n: number): number {
  const shared = Math.floor(promptTokens / pageSize)
  return shared + n * Math.ceil(((promptTokens % pageSize) + output) / pageSize)
}

function contractOf(pageSize: number, promptTokens: number, maxOutput: number, n: number): Contract {
  return {
    promptTokens,
    maxOutput,
    n,
    prefillPages: Math.ceil(promptTokens / pageSize),
    decodePages: decodePages(pageSize, promptTokens, maxOutput, n),
  }
}

/** The most tokens each of n sequences may have; 0 if not even one fits. */
function mostOutput(limits: ModelLimits, promptTokens: number, n: number): number {
  const { advertisedWindow, decodePool, pageSize } = limits
  const byWindow = Math.floor((advertisedWindow - promptTokens) / n)
  const pages = Math.floor(decodePool / pageSize) - Math.floor(promptTokens / pageSize)
  const byPool = Math.floor(pages / n) * pageSize - (promptTokens % pageSize)
  return Math.max(0, Math.min(byWindow, byPool))
}

function completionBound(limits: ModelLimits, promptTokens: number, output: number, n: number): Bound {
  const { advertisedWindow, decodePool, pageSize } = limits
  const broken: Limit[] = []
  if (promptTokens + output * n > advertisedWindow) broken.push({ bound: 'context_window', tokens: advertisedWindow })
  if (decodePages(pageSize, promptTokens, output, n) * pageSize > usable(decodePool, pageSize)) {
    broken.push({ bound: 'decode_pool', tokens: usable(decodePool, pageSize) })
  }
  return smallest(broken).bound
}

function refuse(
  demand: Demand,
  bound: Bound,
  cause: 'prompt' | 'completion',
  outputTokens: number,
  nCtx: number,
): Verdict {
  const { promptTokens, promptTokensIs } = demand
  return { kind: 'refused', bound, promptTokens, promptTokensIs, outputTokens, nCtx, cause }
}

function assertDemand({ promptTokens, maxOutput, n }: Demand, defaultMaxTokens: number): void {
  const count = (value: number): boolean => Number.isSafeInteger(value) && value >= 1
  const total = promptTokens + (maxOutput ?? 1) * n
  const fine = count(promptTokens) && count(n) && (maxOutput === null || count(maxOutput)) && count(defaultMaxTokens)
  if (fine && Number.isSafeInteger(total)) return
  throw new AdmissionError({
    code: 'invalid_demand',
    message: 'a demand needs a prompt of at least one token, n of at least 1 and a whole number of output tokens',
    details: { promptTokens, maxOutput: maxOutput ?? 'none', n, defaultMaxTokens },
  })
}
