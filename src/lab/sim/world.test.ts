import { describe, expect, it } from 'vitest'
import { Digest } from './hash.ts'
import { seededOracle } from './oracle.ts'
import { Link, World } from './world.ts'

const drain = (world: World): void => {
  while (world.tick());
}

describe('World', () => {
  it('does what is due in order of time, then of scheduling', () => {
    const world = new World()
    const done: string[] = []
    for (const [name, at] of [
      ['c', 5],
      ['a', 1],
      ['d', 5],
      ['b', 2],
    ] as const)
      world.at(at, () => done.push(`${name}${world.now}`))
    drain(world)
    expect(done).toEqual(['a1', 'b2', 'c5', 'd5'])
  })
})

describe('Link', () => {
  it('keeps order unless told to overtake, and loses what is under way when cut', () => {
    const world = new World()
    const link = new Link(world)
    const got: number[] = []
    link.send(9, () => got.push(1))
    link.send(1, () => got.push(2))
    link.send(3, () => got.push(3), true)
    drain(world)
    expect(got).toEqual([3, 1, 2])
    link.send(1, () => got.push(4))
    link.cut()
    drain(world)
    expect(got).toEqual([3, 1, 2])
  })
})

describe('seededOracle', () => {
  it('draws the same for the same seed and spreads over all values', () => {
    const draw = (seed: number): number[] => {
      const oracle = seededOracle(seed)
      return Array.from({ length: 400 }, () => oracle.choose('x', 7))
    }
    expect(draw(5)).toEqual(draw(5))
    expect(draw(5)).not.toEqual(draw(6))
    expect(new Set(draw(5))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6]))
  })
})

describe('Digest', () => {
  it('sees every part of a value', () => {
    const of = (value: unknown): string => {
      const digest = new Digest()
      digest.add(value)
      return digest.hex()
    }
    const values = [
      { a: 1 },
      { a: 2 },
      { a: '1' },
      { a: [1] },
      { a: null },
      { a: true },
      { a: false },
      { a: 0.5 },
      { a: Uint8Array.of(1, 2) },
      { a: Uint8Array.of(2, 1) },
    ]
    expect(new Set(values.map(of)).size).toBe(values.length)
    expect(of({ a: 1 })).toBe(of({ a: 1 }))
  })
})
