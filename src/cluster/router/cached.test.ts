import { describe, expect, it } from 'vitest'
import type { RouterEffect } from '../effects.ts'
import type { RouterEvent } from '../events.ts'
import type { DecodeToRouter, PrefillToRouter } from '../messages.ts'
import { ofKind, prefillOptions, requestFor, routerOptions } from '../testing/kit.ts'
import { RouterMachine } from './machine.ts'

type Untimed<T> = T extends unknown ? Omit<T, 'now'> : never
const [PREFILL, DECODE] = [1, 2]
const identity = { requestId: 'r', attempt: 1 }

const running = () => {
  const machine = new RouterMachine(routerOptions())
  const step = (event: Untimed<RouterEvent>): RouterEffect[] => machine.step({ ...event, now: 0 } as RouterEvent)
  const prefill = (message: PrefillToRouter) => step({ kind: 'from_prefill', epoch: PREFILL, message })
  const decode = (message: DecodeToRouter) => step({ kind: 'from_decode', epoch: DECODE, message })
  const { shape } = prefillOptions(8)
  prefill({ kind: 'hello', role: 'prefill', model: 'm', weights: 'w', epoch: PREFILL, shape })
  decode({ kind: 'hello', role: 'decode', model: 'm', weights: 'w', epoch: DECODE, shape })
  step({ kind: 'submit', request: requestFor('r') })
  decode({ kind: 'reserved', ...identity, lease: { id: 1, epoch: DECODE } })
  const armed = () => decode({ kind: 'armed', ...identity })
  const finished = () => decode({ kind: 'finished', ...identity, sequence: 0, reason: 'stop' })
  const prefilled = (cachedTokens: number) => prefill({ kind: 'prefilled', ...identity, cachedTokens })
  return { step, armed, finished, prefilled }
}
const delivered = (effects: RouterEffect[]) => ofKind(effects, 'deliver').map(({ event }) => event)

describe('what was cached of a prompt', () => {
  it('is told once, before the answer is done', () => {
    const { armed, finished, prefilled } = running()
    expect(delivered(prefilled(8))).toEqual([{ kind: 'cached', tokens: 8 }])
    expect(delivered(prefilled(8))).toEqual([])
    armed()
    expect(delivered(finished()).map(({ kind }) => kind)).toEqual(['sequence_finished', 'done'])
  })

  it('is not told where it is nothing', () => {
    expect(delivered(running().prefilled(0))).toEqual([])
  })

  it('is waited for: an answer is not done before prefill has said its last word', () => {
    const { armed, finished, prefilled } = running()
    armed()
    expect(delivered(finished()).map(({ kind }) => kind)).toEqual(['sequence_finished'])
    expect(delivered(prefilled(4))).toEqual([{ kind: 'cached', tokens: 4 }, { kind: 'done' }])
  })

  for (const role of ['prefill', 'decode'] as const)
    it(`costs a finished answer nothing when ${role} is lost meanwhile`, () => {
      const { step, armed, finished } = running()
      armed()
      finished()
      const epoch = role === 'prefill' ? PREFILL : DECODE
      expect(delivered(step({ kind: 'worker_down', role, epoch, reason: 'crash' }))).toEqual([{ kind: 'done' }])
    })

  it('is not waited for where prefill was lost before the end', () => {
    const { step, armed, finished } = running()
    armed()
    step({ kind: 'worker_down', role: 'prefill', epoch: PREFILL, reason: 'crash' })
    expect(delivered(finished()).map(({ kind }) => kind)).toEqual(['sequence_finished', 'done'])
  })
})
