import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SamplingParams } from '../model/index.ts'
import { kthLargest } from './cutoff.ts'
import { sample } from './index.ts'
import { philox4x32, uniform } from './philox.ts'

const params = (changes: Partial<SamplingParams> = {}): SamplingParams => ({
  temperature: 1,
  topP: 1,
  topK: 0,
  seed: 7,
  topLogprobs: null,
  ...changes,
})
const logitsOf = (...values: number[]): Float32Array => Float32Array.from(values)
const drawMany = (logits: Float32Array, changes: Partial<SamplingParams>, count: number): Map<number, number> => {
  const seen = new Map<number, number>()
  for (let index = 0; index < count; index++) {
    const { token } = sample(logits, { params: params(changes), sequence: 0, index })
    seen.set(token, (seen.get(token) ?? 0) + 1)
  }
  return seen
}

describe('philox4x32', () => {
  it('gives the known answers of the authors', () => {
    expect(philox4x32([0, 0, 0, 0], [0, 0])).toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8])
    const ones = 0xffffffff
    expect(philox4x32([ones, ones, ones, ones], [ones, ones])).toEqual([0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd])
    expect(philox4x32([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0])).toEqual([
      0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1,
    ])
  })

  it('yields numbers in [0, 1) that differ in every argument', () => {
    const numbers = [uniform(1, 0, 0), uniform(2, 0, 0), uniform(1, 1, 0), uniform(1, 0, 1)]
    for (const number of numbers) expect(number >= 0 && number < 1).toBe(true)
    expect(new Set(numbers).size).toBe(4)
  })
})

describe('sample', () => {
  it('takes the largest logit at temperature 0, the lowest id among equals', () => {
    expect(sample(logitsOf(1, 5, 3, 5), { params: params({ temperature: 0 }), sequence: 0, index: 0 }).token).toBe(1)
  })

  it('draws in proportion to the weights', () => {
    const seen = drawMany(logitsOf(Math.log(1), Math.log(2), Math.log(5)), {}, 8000)
    expect(seen.get(0)! / 8000).toBeCloseTo(0.125, 1)
    expect(seen.get(1)! / 8000).toBeCloseTo(0.25, 1)
    expect(seen.get(2)! / 8000).toBeCloseTo(0.625, 1)
  })

  it('keeps top_k tokens, the lowest ids among equals', () => {
    expect([...drawMany(logitsOf(1, 2, 2, 2), { topK: 2 }, 300).keys()].sort()).toEqual([1, 2])
  })

  it('keeps the fewest tokens that hold top_p, at least one', () => {
    const logits = logitsOf(Math.log(0.5), Math.log(0.3), Math.log(0.2))
    expect([...drawMany(logits, { topP: 0.79 }, 300).keys()].sort()).toEqual([0, 1])
    expect([...drawMany(logits, { topP: 0.5 }, 300).keys()]).toEqual([0])
    expect([...drawMany(logits, { topP: 1e-9 }, 300).keys()]).toEqual([0])
    expect([...drawMany(logits, { topP: 0 }, 300).keys()]).toEqual([0])
  })

  it('measures top_p over what top_k has left', () => {
    const logits = logitsOf(Math.log(0.4), Math.log(0.3), Math.log(0.3))
    expect([...drawMany(logits, { topK: 2, topP: 0.6 }, 300).keys()].sort()).toEqual([0, 1])
    expect([...drawMany(logits, { topK: 2, topP: 0.55 }, 300).keys()].sort()).toEqual([0])
  })

  it('never draws a token of weight zero', () => {
    const seen = drawMany(logitsOf(0, Number.NEGATIVE_INFINITY, 0), {}, 300)
    expect([...seen.keys()].sort()).toEqual([0, 2])
  })

  it('stays finite at any temperature', () => {
    for (const temperature of [1e-30, 1e-3, 1e9]) {
      const { token } = sample(logitsOf(3, 1, 2), { params: params({ temperature }), sequence: 0, index: 0 })
      expect([0, 1, 2]).toContain(token)
    }
  })

  it('agrees with a plain sort for any logits, top_k and top_p', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -40, max: 5 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        fc.nat(1000),
        (values, topK, topP, seed) => {
          const logits = Float32Array.from(values, (value) => value / 3)
          const { token } = sample(logits, { params: params({ topK, topP, seed }), sequence: 0, index: 0 })
          expect(allowed(logits, topK, topP)).toContain(token)
        },
      ),
    )
  })

  it('reports log-probabilities at temperature 1 over the whole vocabulary, whatever was cut', () => {
    const logits = logitsOf(Math.log(0.5), Math.log(0.25), Math.log(0.25))
    const sampled = sample(logits, {
      params: params({ temperature: 0.2, topK: 1, topLogprobs: 2 }),
      sequence: 0,
      index: 0,
    })
    expect(sampled.logprob).toBeCloseTo(Math.log(0.5), 6)
    expect(sampled.top.map((entry) => entry.token)).toEqual([0, 1])
    expect(sampled.top[1]!.logprob).toBeCloseTo(Math.log(0.25), 6)
  })

  it('reports the chosen token alone when no alternatives are asked for', () => {
    const sampled = sample(logitsOf(1, 2), { params: params({ topLogprobs: 0 }), sequence: 0, index: 0 })
    expect(sampled.logprob).not.toBeNull()
    expect(sampled.top).toEqual([])
  })

  it('cuts at any size as a sort would', () => {
    const logits = Float32Array.from({ length: 5000 }, (_, id) => Math.round(uniform(3, 0, id) * 4000) / 100)
    for (const k of [1, 7, 2048, 2049, 4999]) {
      const { least, ties } = kthLargest(logits, k)
      const sorted = [...logits].sort((a, b) => b - a)
      expect(least).toBe(sorted[k - 1])
      expect(ties).toBe(k - sorted.filter((logit) => logit > least).length)
    }
  })

  it('is quick on a vocabulary of 151,936', () => {
    const logits = Float32Array.from({ length: 151_936 }, (_, id) => uniform(1, 0, id) * 10)
    const began = performance.now()
    for (let index = 0; index < 5; index++)
      sample(logits, { params: params({ topP: 0.9, topK: 50 }), sequence: 0, index })
    expect((performance.now() - began) / 5).toBeLessThan(100)
  })
})

/** Reference: sort everything, ids ascending among equals. */
const allowed = (logits: Float32Array, topK: number, topP: number): number[] => {
  const largest = Math.max(...logits)
  const order = Array.from(logits, (logit, id) => ({ id, weight: Math.exp(logit - largest) }))
    .sort((a, b) => b.weight - a.weight || a.id - b.id)
    .slice(0, topK)
  const total = order.reduce((sum, { weight }) => sum + weight, 0)
  const kept: number[] = []
  let sum = 0
  for (const { id, weight } of order) {
    kept.push(id)
    sum += weight
    // A hair of tolerance: sums in another order may differ in the last bit.
    if (sum >= topP * total * (1 + 1e-12)) break
  }
  return kept
}
