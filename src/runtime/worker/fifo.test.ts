import { expect, test } from 'vitest'
import { Fifo } from './fifo.ts'

test('gives each item once, in order, however pushes and shifts alternate', () => {
  const fifo = new Fifo<{ readonly at: number }>()
  const given: number[] = []
  let pushed = 0
  for (const [pushes, shifts] of [
    [5, 2],
    [1, 4],
    [0, 3],
    [7, 1],
    [40, 60],
  ] as const) {
    for (let i = 0; i < pushes; i++) fifo.push({ at: pushed++ })
    for (let i = 0; i < shifts; i++) {
      const item = fifo.shift()
      if (item !== undefined) given.push(item.at)
    }
  }
  expect(given).toEqual(Array.from({ length: pushed }, (_, at) => at))
  expect(fifo.shift()).toBeUndefined()
})

test('what was cleared does not come', () => {
  const fifo = new Fifo<{ readonly at: number }>()
  for (const at of [1, 2, 3]) fifo.push({ at })
  fifo.shift()
  fifo.clear()
  fifo.push({ at: 4 })
  expect([fifo.shift(), fifo.shift()]).toEqual([{ at: 4 }, undefined])
})

test('does not slow down by its length', () => {
  const fifo = new Fifo<{ readonly at: number }>()
  const count = 200_000
  for (let at = 0; at < count; at++) fifo.push({ at })
  const start = performance.now()
  for (let at = 0; at < count; at++) fifo.shift()
  // An array's `shift` takes ten seconds here.
  expect(performance.now() - start).toBeLessThan(1_000)
})
