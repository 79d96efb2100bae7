import { expect, test } from 'vitest'
import { createDriver } from './driver.ts'

test('effects run in order, and events they cause are stepped after them', () => {
  const log: string[] = []
  const machine = {
    step: (event: string): string[] => {
      log.push(`step ${event}`)
      return event === 'a' ? ['a1', 'a2'] : []
    },
  }
  const driver = createDriver<string, string>(machine, (effect) => {
    log.push(`do ${effect}`)
    driver.dispatch(`after ${effect}`)
  })
  driver.dispatch('a')
  expect(log).toEqual(['step a', 'do a1', 'do a2', 'step after a1', 'step after a2'])
})

test('an attachment reaches the effects of its own event alone', () => {
  const seen: (number | undefined)[] = []
  const machine = { step: (event: string): string[] => (event === 'x' ? ['again', 'see'] : ['see']) }
  const driver = createDriver<string, string>(machine, (effect, attachment) => {
    if (effect === 'again') driver.dispatch('y')
    else seen.push(attachment?.[0])
  })
  driver.dispatch('x', Uint8Array.of(7))
  expect(seen).toEqual([7, undefined])
})

test('idle is told once per outermost dispatch', () => {
  let idle = 0
  const driver = createDriver<number, number>(
    { step: (event) => (event > 0 ? [event - 1] : []) },
    (effect) => driver.dispatch(effect),
    () => {
      idle += 1
    },
  )
  driver.dispatch(5)
  expect(idle).toBe(1)
})
