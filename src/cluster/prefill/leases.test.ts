import { describe, expect, it } from 'vitest'
import type { PageTable } from '../../kv/index.ts'
import type { PrefillEffect } from '../effects.ts'
import type { PrefillEvent } from '../events.ts'
import type { PrefillToRouter } from '../messages.ts'
import { type Asked, idsOf, ofKind, prefillFor, prefillOptions, resultOf, said } from '../testing/kit.ts'
import { Leases } from './leases.ts'
import { PrefillMachine } from './machine.ts'

const DECODE = 9
const tableOf = (...pages: number[]): PageTable => ({
  pages: Uint32Array.from(pages),
  owners: Uint32Array.from(pages, () => 4),
  generations: Uint32Array.from(pages, (page) => 100 + page),
})
const leaseOf = (id: number, target = tableOf(20, 21)) => ({ id, epoch: DECODE, target })

const started = (floor = 1) => {
  const machine = new PrefillMachine(prefillOptions(24, { transport: 'shared', chunkRows: 64 }))
  const step = (event: Record<string, unknown>): PrefillEffect[] =>
    machine.step({ now: 0, ...event } as unknown as PrefillEvent)
  step({ kind: 'start' })
  step({ kind: 'link_up', from: { id: floor, epoch: DECODE } })
  const ask = (requestId: string, lease: ReturnType<typeof leaseOf>, asked: Asked = {}): PrefillEffect[] =>
    step({ kind: 'message', message: prefillFor(requestId, lease, asked) })
  const compute = (effects: readonly PrefillEffect[]): PrefillEffect[] => {
    const [forward] = ofKind(effects, 'forward')
    return step({ kind: 'forward_done', result: resultOf(forward!.plan), seconds: 0 })
  }
  const closed = (id: number, floor = 1): PrefillEffect[] =>
    step({ kind: 'peer', message: { kind: 'lease_closed', lease: { id, epoch: DECODE }, floor } })
  return { machine, step, ask, compute, closed }
}
const words = (effects: readonly PrefillEffect[]): PrefillToRouter[] => said<PrefillToRouter>(effects)

describe('a page that is stored', () => {
  it('goes to decode’s page of the same place, under the tag that the lease names', () => {
    const { ask, compute } = started()
    const sends = ofKind(compute(ask('r', leaseOf(1))), 'send_page')
    expect(sends.map(({ frame, target }) => [frame.ordinal, target])).toEqual(
      [0, 1, 0, 1].map((ordinal) => [ordinal, { page: 20 + ordinal, tag: { owner: 4, generation: 120 + ordinal } }]),
    )
    expect(sends.every(({ frame }) => !('target' in frame.lease))).toBe(true)
  })

  it('whose target is another’s by now ends its request in silence: decode knows already', () => {
    const { machine, step, ask, compute } = started()
    const pass = compute(ask('r', leaseOf(1, tableOf(...Array.from({ length: 20 }, (_, i) => i))), { ids: idsOf(80) }))
    const [first, ...others] = ofKind(pass, 'send_page')
    const effects = step({ kind: 'page_sent', id: first!.id, fault: 'lease_gone' })
    expect(words(effects)).toEqual([])
    expect(ofKind(effects, 'telemetry')).toEqual([])
    expect(ofKind(effects, 'send_acknowledge')).toMatchObject([{ lease: { id: 1 } }])
    expect(ofKind(compute(pass), 'forward')).toEqual([])
    for (const { id } of others) step({ kind: 'page_sent', id })
    expect(machine.poolCounts()).toMatchObject({ free: 24, quarantined: 0 })
  })
})

describe('a lease that is closed', () => {
  it('is acknowledged behind the stores that were begun under it, and nothing more is begun', () => {
    const { ask, compute, closed } = started()
    const stores = ofKind(compute(ask('r', leaseOf(1))), 'send_page')
    expect(stores.length).toBeGreaterThan(0)
    const effects = closed(1)
    expect(ofKind(effects, 'send_acknowledge')).toEqual([{ kind: 'send_acknowledge', lease: { id: 1, epoch: DECODE } }])
    expect(ofKind(effects, 'send_page')).toEqual([])
  })

  it('stores nothing of a pass that was under way', () => {
    const { ask, compute, closed } = started()
    const begun = ask('r', leaseOf(1))
    closed(1)
    expect(ofKind(compute(begun), 'send_page')).toEqual([])
  })

  it('is acknowledged although nobody has asked for anything under it yet', () => {
    const { closed } = started()
    expect(ofKind(closed(3), 'send_acknowledge')).toMatchObject([{ lease: { id: 3 } }])
  })

  it.each([
    ['was acknowledged', ({ closed }: ReturnType<typeof started>) => closed(3)],
    ['is below the floor', ({ closed }: ReturnType<typeof started>) => closed(7, 5)],
  ])('is never stored under again once it %s, though the ticket is good', (_, end) => {
    const world = started()
    end(world)
    const late = world.ask('late', leaseOf(3))
    expect(words(late)).toMatchObject([{ kind: 'declined', code: 'lease_over' }])
    expect(ofKind(late, 'forward')).toEqual([])
  })

  it('of an earlier life of prefill is not stored under by the next', () => {
    const { ask } = started(4)
    expect(words(ask('early', leaseOf(3)))).toMatchObject([{ kind: 'declined', code: 'lease_over' }])
    expect(ofKind(ask('now', leaseOf(4)), 'forward')).toHaveLength(1)
  })

  it.each([
    ['no page', undefined],
    ['too few pages', tableOf(20)],
  ])('or never said where to store (%s) is declined', (_, target) => {
    const { ask } = started()
    const { id, epoch } = leaseOf(1)
    const lease = { id, epoch, ...(target && { target }) } as ReturnType<typeof leaseOf>
    expect(words(ask('r', lease, { ids: idsOf(6) }))).toMatchObject([{ kind: 'declined', code: 'lease_over' }])
  })
})

describe('the book of leases', () => {
  it('holds nothing before decode has said from which lease on, and nothing of another life of decode', () => {
    const leases = new Leases()
    expect(leases.mayStore(leaseOf(1), 2)).toBe(false)
    leases.openFrom({ id: 1, epoch: DECODE })
    expect(leases.mayStore(leaseOf(1), 2)).toBe(true)
    leases.spend({ kind: 'lease_closed', lease: { id: 1, epoch: DECODE - 1 }, floor: 5 })
    expect(leases.mayStore(leaseOf(1), 2)).toBe(true)
    expect(leases.mayStore({ ...leaseOf(1), epoch: DECODE - 1 }, 2)).toBe(false)
  })

  it('remembers no lease below the floor', () => {
    const leases = new Leases()
    leases.openFrom({ id: 1, epoch: DECODE })
    for (let id = 1; id <= 1000; id++) leases.spend({ kind: 'lease_closed', lease: { id, epoch: DECODE }, floor: id })
    expect(leases.remembered).toBe(1)
  })

  it('never lets a floor sink that comes late', () => {
    const leases = new Leases()
    leases.openFrom({ id: 1, epoch: DECODE })
    leases.spend({ kind: 'lease_closed', lease: { id: 9, epoch: DECODE }, floor: 8 })
    leases.spend({ kind: 'lease_closed', lease: { id: 2, epoch: DECODE }, floor: 1 })
    expect(leases.mayStore(leaseOf(7), 2)).toBe(false)
    expect(leases.mayStore(leaseOf(8), 2)).toBe(true)
  })
})
