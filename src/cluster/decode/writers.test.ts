import { describe, expect, it } from 'vitest'
import { partialFences } from '../../lab/partial-fences.ts'
import type { Lease } from '../messages.ts'
import { fill, framesOf, kinds, manifestOf, place, reserve, started, words } from '../testing/decode-kit.ts'
import { idsOf, ofKind } from '../testing/kit.ts'

const shared = (pages = 4) => started(pages, { transport: 'shared' })
const abort = (requestId: string) => ({ kind: 'message', message: { kind: 'abort', requestId, attempt: 1 } }) as const
const nameOf = ({ id, epoch }: Lease): Lease => ({ id, epoch })

describe('a lease over shared memory', () => {
  it('says where the writer may store: the pages of the prompt, under their tags', () => {
    const { step } = shared()
    const { target } = reserve(step, 'r', { maxOutput: 9 })
    expect(target!.pages).toHaveLength(2)
    expect(new Set(target!.owners).size).toBe(1)
    expect([...target!.generations].every((generation) => generation > 0)).toBe(true)
  })

  it('names no pages over a socket, where decode places every byte itself', () => {
    const { step } = started(4)
    expect(reserve(step, 'r').target).toBeUndefined()
  })

  it('is filled by stores of which decode hears when they are done', () => {
    const { machine, step } = shared()
    const lease = reserve(step, 'r', { maxOutput: 2 })
    const [frame] = framesOf('r', nameOf(lease), idsOf(6))
    expect(ofKind(step({ kind: 'page_frame', frame: frame! }), 'place')).toMatchObject([{ stored: true }])
    expect(machine.audit()).toBeNull()
  })
})

describe('pages that prefill may still store into', () => {
  it('are quarantined when the lease closes, and their tags cleared, so that a late store finds nobody', () => {
    const { machine, step } = shared()
    const lease = reserve(step, 'r')
    const effects = step(abort('r'))
    expect(ofKind(effects, 'close_lease')).toMatchObject([{ lease: { id: lease.id }, floor: lease.id }])
    expect(ofKind(effects, 'revoke').flatMap(({ pages }) => [...pages])).toEqual([...lease.target!.pages])
    expect(machine.poolCounts()).toMatchObject({ quarantined: 2, owned: 0 })
    expect(kinds(effects)).toEqual([])
  })

  it('wait for no clock: only for the writer’s word', () => {
    const { machine, step } = shared()
    const lease = reserve(step, 'r')
    step(abort('r'))
    for (let turn = 0; turn < 50; turn++) step({ kind: 'swept', id: turn, fault: null })
    expect(machine.poolCounts().quarantined).toBe(2)

    const [scrub] = ofKind(step({ kind: 'acknowledged', lease: nameOf(lease) }), 'scrub')
    expect([...scrub!.pages].sort()).toEqual([...lease.target!.pages].sort())
    const home = step({ kind: 'scrubbed', id: scrub!.id })
    expect(kinds(home)).toEqual(['released'])
    expect(machine.poolCounts()).toMatchObject({ free: 4, quarantined: 0 })
  })

  it('are not freed by the word of another lease, or of another life', () => {
    const { machine, step } = shared()
    const lease = reserve(step, 'r')
    step(abort('r'))
    for (const [id, epoch] of [
      [lease.id + 1, lease.epoch],
      [lease.id, lease.epoch + 1],
    ] as const) {
      expect(ofKind(step({ kind: 'acknowledged', lease: { id, epoch } }), 'scrub')).toEqual([])
    }
    expect(machine.poolCounts().quarantined).toBe(2)
  })

  it.each(['link_down', 'link_up'] as const)('come home at %s: the thread that wrote is known ended', (kind) => {
    const { machine, step } = shared()
    reserve(step, 'r')
    step(abort('r'))
    const [scrub] = ofKind(step({ kind }), 'scrub')
    step({ kind: 'scrubbed', id: scrub!.id })
    expect(machine.poolCounts()).toMatchObject({ free: 4, quarantined: 0 })
  })

  it('are those of the prompt alone: no writer knows of the others', () => {
    const { machine, step } = shared(12)
    reserve(step, 'r', { maxOutput: 20 })
    step(abort('r'))
    expect(machine.poolCounts()).toMatchObject({ quarantined: 2, free: 10 })
  })

  it('fail their request, to begin anew, where the writer gives an open lease up', () => {
    const { machine, step } = shared()
    const lease = reserve(step, 'r')
    expect(words(step({ kind: 'acknowledged', lease: nameOf(lease) }))).toMatchObject([
      { kind: 'failed', code: 'worker_lost' },
      { kind: 'released' },
    ])
    expect(machine.poolCounts()).toMatchObject({ free: 4, quarantined: 0 })
  })

  it('do no harm to a request that is complete, whatever the writer says of it afterwards', () => {
    const { step } = shared()
    const lease = reserve(step, 'r')
    fill(step, 'r', lease)
    expect(words(step({ kind: 'acknowledged', lease: nameOf(lease) }))).toEqual([])
  })

  it('are none once the manifest has come: that was the writer’s last word', () => {
    const { machine, step } = shared()
    fill(step, 'r', reserve(step, 'r'))
    step(abort('r'))
    expect(machine.poolCounts().quarantined).toBe(0)
  })

  it('stay in quarantine until the writer’s word, also where the request ended for want of a page', () => {
    const { machine, step } = shared()
    const lease = reserve(step, 'r')
    const [frame] = framesOf('r', nameOf(lease), idsOf(6))
    const [effect] = ofKind(step({ kind: 'page_frame', frame: frame! }), 'place')
    const failed = step({ kind: 'placed', id: effect!.id, outcome: 'bad_seal' })
    expect(words(failed)).toMatchObject([{ kind: 'failed', code: 'kv_integrity' }])
    expect(machine.poolCounts()).toMatchObject({ quarantined: 2, free: 2 })
    const [scrub] = ofKind(step({ kind: 'acknowledged', lease: nameOf(lease) }), 'scrub')
    step({ kind: 'scrubbed', id: scrub!.id })
    expect(machine.poolCounts().free).toBe(4)
  })

  it('are everybody’s at once where R6 is off', () => {
    const { machine, step } = started(4, { transport: 'shared', fences: partialFences(['R5']) })
    reserve(step, 'r')
    step(abort('r'))
    expect(machine.poolCounts()).toMatchObject({ free: 4, quarantined: 0 })
  })
})

describe('the floor', () => {
  it('is the first lease that somebody may still store under, and rises as writers let go', () => {
    const { step } = shared(12)
    const one = reserve(step, 'one')
    const two = reserve(step, 'two')
    const three = reserve(step, 'three')
    expect(ofKind(step(abort('two')), 'close_lease')).toMatchObject([{ floor: one.id }])
    step({ kind: 'acknowledged', lease: nameOf(two) })
    for (const frame of framesOf('one', nameOf(one), idsOf(6))) place(step, frame)
    step({ kind: 'manifest', frame: manifestOf('one', nameOf(one), idsOf(6)) })
    expect(ofKind(step(abort('one')), 'close_lease')).toMatchObject([{ floor: three.id }])
    step(abort('three'))
    step({ kind: 'acknowledged', lease: nameOf(three) })
    const four = reserve(step, 'four')
    expect(ofKind(step(abort('four')), 'close_lease')).toMatchObject([{ floor: four.id }])
  })

  it('is told to each new life of prefill, above every lease that an earlier one may have heard of', () => {
    const { step } = shared()
    const lease = reserve(step, 'r')
    step({ kind: 'link_down' })
    expect(ofKind(step({ kind: 'link_up' }), 'open_leases')).toEqual([
      { kind: 'open_leases', from: { id: lease.id + 1, epoch: lease.epoch } },
    ])
  })
})
