import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  AdmissionError,
  type Demand,
  decodePages,
  effectiveWindow,
  judge,
  type ModelLimits,
  refusalMessage,
  type Verdict,
} from './index.ts'

const limits: ModelLimits = { advertisedWindow: 2048, prefillPool: 1024, decodePool: 2048, pageSize: 16 }

function demand(promptTokens: number, maxOutput: number | null = null, n = 1): Demand {
  return { promptTokens, promptTokensIs: 'exact', maxOutput, n }
}

function refusal(verdict: Verdict): Extract<Verdict, { kind: 'refused' }> {
  if (verdict.kind !== 'refused') throw new Error(`expected a refusal, got ${JSON.stringify(verdict)}`)
  return verdict
}

const small = fc.record({
  advertisedWindow: fc.integer({ min: 1, max: 70 }),
  prefillPool: fc.integer({ min: 0, max: 70 }),
  decodePool: fc.integer({ min: 0, max: 70 }),
  pageSize: fc.integer({ min: 1, max: 9 }),
})

/** R2 as it is written, page by page: hands out pages to the prompt and to each sequence until the pool is empty. */
function fits(of: ModelLimits, prompt: number, output: number, n: number): boolean {
  const prefillPages = Math.floor(of.prefillPool / of.pageSize)
  let decode = Math.floor(of.decodePool / of.pageSize)
  if (prompt + 1 > prefillPages * of.pageSize) return false
  if (prompt + output * n > of.advertisedWindow) return false
  const whole = Math.floor(prompt / of.pageSize)
  decode -= whole
  for (let sequence = 0; sequence < n; sequence++) {
    for (let row = whole * of.pageSize; row < prompt + output; row += of.pageSize) decode--
  }
  return decode >= 0
}

describe('judge at the edges of window 2,048, prefill pool 1,024, decode pool 2,048', () => {
  it('admits the longest prompt and refuses one token more, naming the prefill pool', () => {
    expect(judge(limits, demand(1023, 1)).kind).toBe('admitted')
    expect(judge(limits, demand(1024, 1))).toEqual({
      kind: 'refused',
      bound: 'prefill_pool',
      promptTokens: 1024,
      promptTokensIs: 'exact',
      outputTokens: 1,
      nCtx: 1024,
      cause: 'prompt',
    })
  })

  it('admits a prompt of 600 with 700 tokens of output, which together exceed the prefill pool', () => {
    expect(judge(limits, demand(600, 700))).toEqual({
      kind: 'admitted',
      contract: { promptTokens: 600, maxOutput: 700, n: 1, prefillPages: 38, decodePages: 82 },
    })
  })

  it('refuses a completion past the window, whose n_ctx is the window', () => {
    expect(judge(limits, demand(1000, 1048)).kind).toBe('admitted')
    const refused = refusal(judge(limits, demand(1000, 1049)))
    expect(refused).toMatchObject({ bound: 'context_window', cause: 'completion', outputTokens: 1049, nCtx: 2048 })
  })

  it('contracts for the room left, at most the default, when the client set no limit', () => {
    const output = (prompt: number, n = 1): number | undefined => {
      const verdict = judge({ ...limits, prefillPool: 2048 }, demand(prompt, null, n))
      return verdict.kind === 'admitted' ? verdict.contract.maxOutput : undefined
    }
    expect(output(1000)).toBe(1024)
    expect(output(2000)).toBe(48)
    expect(output(2047)).toBe(1)
    expect(output(2048)).toBeUndefined()
    expect(output(1000, 2)).toBe(520)
    expect(judge(limits, demand(10, null), 7)).toMatchObject({ contract: { maxOutput: 7 } })
  })

  it('counts one token for each of n sequences when the client set no limit and they do not fit', () => {
    const wide = { ...limits, prefillPool: 2048 }
    expect(refusal(judge(wide, demand(2046, null, 8)))).toMatchObject({ cause: 'completion', outputTokens: 8 })
    expect(refusal(judge(wide, demand(2048, null, 8)))).toMatchObject({ cause: 'prompt', outputTokens: 0 })
  })

  it('rounds up the tail of each of n sequences', () => {
    expect(decodePages(16, 33, 1, 3)).toBe(2 + 3)
    expect(decodePages(16, 32, 16, 3)).toBe(2 + 3)
    const tight = { advertisedWindow: 2048, prefillPool: 2048, decodePool: 64, pageSize: 16 }
    // 17 + 3 × 2 tokens are 23, but the pages are 1 + 3
    expect(judge(tight, demand(17, 2, 3)).kind).toBe('admitted')
    const refused = refusal(judge(tight, demand(17, 2, 4)))
    expect(refused).toMatchObject({ bound: 'decode_pool', cause: 'completion', nCtx: 64 })
    expect(refusalMessage(refused)).toContain('whole pages')
  })

  it('names the smallest limit of those broken, and the window among equals', () => {
    const bound = (of: Partial<ModelLimits>, of2: Demand): string => refusal(judge({ ...limits, ...of }, of2)).bound
    expect(bound({ prefillPool: 2048, decodePool: 512 }, demand(5000))).toBe('decode_pool')
    expect(bound({ prefillPool: 2048 }, demand(5000))).toBe('context_window')
    expect(bound({ advertisedWindow: 4096, prefillPool: 2048 }, demand(5000))).toBe('prefill_pool')
    expect(bound({ decodePool: 1600 }, demand(1000, 5000))).toBe('decode_pool')
    // the prompt is judged first, though the completion breaks a smaller limit
    expect(bound({ prefillPool: 16, decodePool: 32 }, demand(16, 9000))).toBe('prefill_pool')
  })

  it('refuses a floor above the limit and throws on one below: an uncounted prompt is never admitted', () => {
    const floor = (promptTokens: number): Demand => ({ promptTokens, promptTokensIs: 'at_least', maxOutput: 1, n: 1 })
    expect(refusal(judge(limits, floor(1024)))).toMatchObject({ promptTokensIs: 'at_least', promptTokens: 1024 })
    expect(() => judge(limits, floor(1023))).toThrow(AdmissionError)
  })

  it('takes 10^12 output tokens as a count and refuses what is none', () => {
    expect(refusal(judge(limits, demand(10, 1e12, 8))).outputTokens).toBe(8e12)
    const wrong: Demand[] = [demand(0), demand(1.5), demand(10, 0), demand(10, -1), demand(10, 2.5), demand(10, 1, 0)]
    for (const of of [...wrong, demand(Number.NaN), demand(10, Number.POSITIVE_INFINITY), demand(10, 2 ** 52, 8)]) {
      expect(() => judge(limits, of)).toThrow(AdmissionError)
    }
    expect(() => judge({ ...limits, pageSize: 0 }, demand(1))).toThrow(AdmissionError)
  })
})

describe('judge, on all small pools', () => {
  it('admits exactly what fits page by page', () => {
    const property = fc.property(
      small,
      fc.integer({ min: 1, max: 80 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 4 }),
      (of, prompt, output, n) => {
        const verdict = judge(of, demand(prompt, output, n))
        expect(verdict.kind === 'admitted').toBe(fits(of, prompt, output, n))
      },
    )
    fc.assert(property, { numRuns: 3000 })
  })

  it('without a limit, is legal wherever one token fits and contracts for the most that does', () => {
    const property = fc.property(
      small,
      fc.integer({ min: 1, max: 80 }),
      fc.integer({ min: 1, max: 4 }),
      (of, prompt, n) => {
        const verdict = judge(of, demand(prompt, null, n), 25)
        expect(verdict.kind === 'admitted').toBe(fits(of, prompt, 1, n))
        if (verdict.kind !== 'admitted') return
        const { maxOutput } = verdict.contract
        expect(fits(of, prompt, maxOutput, n)).toBe(true)
        if (maxOutput < 25) expect(fits(of, prompt, maxOutput + 1, n)).toBe(false)
      },
    )
    fc.assert(property, { numRuns: 2000 })
  })

  it('publishes the largest window all of whose prompts are admissible', () => {
    const property = fc.property(small, (of) => {
      const window = effectiveWindow(of)
      for (let prompt = 1; prompt <= 80; prompt++) {
        expect(judge(of, demand(prompt, 1)).kind === 'admitted').toBe(prompt <= window - 1)
      }
    })
    fc.assert(property, { numRuns: 300 })
  })

  it('names a bound that is broken, and a prompt only when the prompt alone is too long', () => {
    const property = fc.property(
      small,
      fc.integer({ min: 1, max: 80 }),
      fc.option(fc.integer({ min: 1, max: 40 })),
      fc.integer({ min: 1, max: 4 }),
      (of, prompt, maxOutput, n) => {
        const verdict = judge(of, demand(prompt, maxOutput, n))
        if (verdict.kind === 'admitted') return
        expect(verdict.cause === 'prompt').toBe(!fits(of, prompt, 1, 1))
        const relaxed = {
          context_window: { ...of, advertisedWindow: 1e6 },
          prefill_pool: { ...of, prefillPool: 1e6 },
          decode_pool: { ...of, decodePool: 1e6 },
        }[verdict.bound]
        const still = judge(relaxed, demand(prompt, maxOutput, n))
        expect(still.kind === 'admitted' || still.bound !== verdict.bound).toBe(true)
        expect(verdict.nCtx).toBe(
          verdict.cause === 'prompt'
            ? effectiveWindow(of)
            : Math.min(of.advertisedWindow, Math.floor(of.decodePool / of.pageSize) * of.pageSize),
        )
      },
    )
    fc.assert(property, { numRuns: 2000 })
  })
})

describe('refusalMessage', () => {
  const refused = (fields: Partial<Extract<Verdict, { kind: 'refused' }>>): string =>
    refusalMessage({
      kind: 'refused',
      bound: 'context_window',
      promptTokens: 3171,
      promptTokensIs: 'exact',
      outputTokens: 1000,
      nCtx: 4097,
      cause: 'prompt',
      ...fields,
    })

  it("has OpenAI's two wordings", () => {
    expect(refused({ promptTokens: 31228 })).toBe(
      "This model's maximum context length is 4097 tokens. However, your messages resulted in 31228 tokens. Please reduce the length of the messages.",
    )
    expect(refused({ cause: 'completion' })).toBe(
      "This model's maximum context length is 4097 tokens. However, you requested 4171 tokens (3171 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
    )
  })

  it('keeps the wording for a floor', () => {
    expect(refused({ promptTokensIs: 'at_least', promptTokens: 9000 })).toContain('resulted in 9000 tokens.')
  })
})
