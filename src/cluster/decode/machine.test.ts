import { describe, expect, it } from 'vitest'
import type { DecodeEffect } from '../effects.ts'
import type { Lease, PageFrame } from '../messages.ts'
import { fill, framesOf, kinds, place, planOf, reserve, started, words } from '../testing/decode-kit.ts'
import { idsOf, ofKind, reserveFor, resultOf, ticketFor } from '../testing/kit.ts'

describe('an answer', () => {
  it('begins once all is delivered, with the last prompt row recomputed, and ends with its pages home', () => {
    const { machine, step } = started()
    const lease = reserve(step, 'r', { maxOutput: 2 })
    expect(machine.poolCounts()).toMatchObject({ owned: 2, free: 10 })
    const armed = fill(step, 'r', lease)
    expect(kinds(armed)).toEqual(['armed'])
    const first = planOf(armed)
    expect(first.sequences[0]).toMatchObject({ start: 5, write: 'recompute', sample: { sequence: 0, index: 0 } })
    expect([...first.sequences[0]!.tokens]).toEqual([15])

    const next = step({ kind: 'forward_done', result: resultOf(first, 30), seconds: 0 })
    expect(words(next)).toMatchObject([{ kind: 'token', sequence: 0, index: 0, sampled: { token: 30 } }])
    const second = planOf(next)
    expect(second.sequences[0]).toMatchObject({ start: 6, write: 'append', sample: { index: 1 } })
    expect([...second.sequences[0]!.tokens]).toEqual([30])

    const last = step({ kind: 'forward_done', result: resultOf(second, 31), seconds: 0 })
    expect(words(last)).toMatchObject([
      { kind: 'token', index: 1 },
      { kind: 'finished', reason: 'length' },
      { kind: 'released' },
    ])
    expect(machine.poolCounts().free).toBe(12)
  })

  it('ends with stop at an end id, which is not itself a token of the answer', () => {
    const { step } = started()
    const armed = fill(step, 'r', reserve(step, 'r'))
    const done = step({ kind: 'forward_done', result: resultOf(planOf(armed), 0), seconds: 0 })
    expect(words(done)).toMatchObject([{ kind: 'finished', reason: 'stop' }, { kind: 'released' }])
  })

  it('shares full prompt pages between sequences and gives each its own copy of the tail', () => {
    const { machine, step } = started()
    const lease = reserve(step, 'r', { n: 2 })
    expect(machine.poolCounts().owned).toBe(1 + 2 * 2)
    const copying = fill(step, 'r', lease)
    const [copy] = ofKind(copying, 'copy_rows')
    expect(copy!.copies).toMatchObject([{ rows: 2 }])
    expect(kinds(copying)).toEqual([])
    const armed = step({ kind: 'copied', id: copy!.id })
    const [one, two] = planOf(armed).sequences
    expect(one!.table.pages[0]).toBe(two!.table.pages[0])
    expect(one!.table.pages[1]).toBe(copy!.copies[0]!.from)
    expect(two!.table.pages[1]).toBe(copy!.copies[0]!.to)
    expect(two!.sample).toMatchObject({ sequence: 1, index: 0 })
  })

  it('loses one sequence to a stop string and goes on with the others', () => {
    const { step } = started()
    const copying = fill(step, 'r', reserve(step, 'r', { n: 2 }))
    const armed = step({ kind: 'copied', id: ofKind(copying, 'copy_rows')[0]!.id })
    step({ kind: 'message', message: { kind: 'finish_sequence', requestId: 'r', attempt: 1, sequence: 0 } })
    const next = step({ kind: 'forward_done', result: resultOf(planOf(armed), 9), seconds: 0 })
    expect(words(next)).toMatchObject([{ kind: 'token', sequence: 1 }])
    expect(planOf(next).sequences).toHaveLength(1)
    const end = step({ kind: 'message', message: { kind: 'finish_sequence', requestId: 'r', attempt: 1, sequence: 1 } })
    expect(kinds(end)).toEqual([])
    const over = step({ kind: 'forward_done', result: resultOf(planOf(next), 9), seconds: 0 })
    expect(kinds(over)).toEqual(['released'])
  })

  it('steps together with others, at most a batch at a time', () => {
    const { step } = started(12, { maxBatch: 1 })
    const first = planOf(fill(step, 'a', reserve(step, 'a', { tenant: 'a' })))
    fill(step, 'b', reserve(step, 'b', { tenant: 'b' }))
    const second = planOf(step({ kind: 'forward_done', result: resultOf(first), seconds: 0 }))
    expect([first, second].map((plan) => plan.sequences.map((one) => one.requestId))).toEqual([['a'], ['b']])
  })
})

describe('a reservation', () => {
  it('is for the whole contract or not at all', () => {
    const { machine, step } = started(2)
    expect(words(step({ kind: 'message', message: reserveFor('r', { maxOutput: 3 }) }))).toMatchObject([
      { kind: 'declined', code: 'no_room' },
    ])
    expect(machine.poolCounts().free).toBe(2)
    expect(kinds(step({ kind: 'message', message: reserveFor('s', { maxOutput: 2 }) }))).toEqual(['reserved'])
  })

  it('needs a ticket for the very ids (R3)', () => {
    const { machine, step } = started()
    const forged = { ...reserveFor('r'), ids: idsOf(6, 11) }
    const stolen = { ...reserveFor('r'), ticket: ticketFor('s') }
    for (const message of [forged, stolen])
      expect(words(step({ kind: 'message', message }))).toMatchObject([{ kind: 'declined', code: 'bad_ticket' }])
    expect(machine.poolCounts().free).toBe(12)
  })

  it('is made once, however often it is asked for', () => {
    const { machine, step } = started()
    reserve(step, 'r')
    expect(kinds(step({ kind: 'message', message: reserveFor('r') }))).toEqual([])
    step({ kind: 'message', message: { kind: 'abort', requestId: 'r', attempt: 1 } })
    expect(words(step({ kind: 'message', message: reserveFor('r') }))).toMatchObject([
      { kind: 'declined', code: 'bad_ticket' },
    ])
    expect(machine.poolCounts().free).toBe(12)
  })
})

describe('a frame', () => {
  const first = (lease: Lease, changes: Partial<PageFrame> = {}): PageFrame => ({
    ...framesOf('r', lease, idsOf(6))[0]!,
    ...changes,
  })
  const reason = (effects: DecodeEffect[]): string | undefined => ofKind(effects, 'discard')[0]?.reason

  it('is placed once', () => {
    const { step } = started()
    const lease = reserve(step, 'r')
    place(step, first(lease))
    expect(reason(step({ kind: 'page_frame', frame: first(lease) }))).toBe('duplicate')
  })

  it('is discarded if it names no open lease, and the sender is told', () => {
    const { step } = started()
    const lease = reserve(step, 'r')
    for (const wrong of [
      { ...lease, id: lease.id + 1 },
      { ...lease, epoch: 6 },
    ]) {
      const effects = step({ kind: 'page_frame', frame: first(wrong) })
      expect(reason(effects)).toBe('unknown_lease')
      expect(ofKind(effects, 'close_lease')[0]!.lease).toEqual(wrong)
    }
  })

  it('is discarded if it names another request or attempt (R10)', () => {
    const { step } = started()
    const lease = reserve(step, 'r')
    for (const wrong of [{ requestId: 's' }, { attempt: 2 }])
      expect(reason(step({ kind: 'page_frame', frame: first(lease, wrong) }))).toBe('wrong_identity')
  })

  it('closes the channel if it names a place that does not exist', () => {
    const { step } = started()
    const lease = reserve(step, 'r')
    for (const wrong of [
      { layer: 2 },
      { layer: -1 },
      { ordinal: 2 },
      { rows: 0 },
      { rows: 5 },
      { ordinal: 0.5 },
      { rows: Number.NaN },
    ]) {
      const effects = step({ kind: 'page_frame', frame: first(lease, wrong) })
      expect(reason(effects)).toBe('out_of_bounds')
      expect(ofKind(effects, 'close_link')).toHaveLength(1)
    }
  })
})

describe('R6: an abort', () => {
  it('closes the lease at once, and keeps a page that is being written until the writing is over', () => {
    const { machine, step } = started()
    const lease = reserve(step, 'r')
    const [frame, later] = framesOf('r', lease, idsOf(6)) as [PageFrame, PageFrame]
    const [writing] = ofKind(step({ kind: 'page_frame', frame }), 'place')
    const aborted = step({ kind: 'message', message: { kind: 'abort', requestId: 'r', attempt: 1 } })
    expect(ofKind(aborted, 'close_lease')).toHaveLength(1)
    expect(kinds(aborted)).toEqual([])
    expect(machine.poolCounts()).toMatchObject({ draining: 1, free: 11 })
    expect(ofKind(step({ kind: 'page_frame', frame: later }), 'discard')[0]!.reason).toBe('unknown_lease')
    expect(kinds(step({ kind: 'placed', id: writing!.id, outcome: 'ok' }))).toEqual(['released'])
    expect(machine.poolCounts().free).toBe(12)
  })

  it('keeps the pages of a running pass until it is over, and its token is nobody’s', () => {
    const { machine, step } = started()
    const plan = planOf(fill(step, 'r', reserve(step, 'r')))
    step({ kind: 'message', message: { kind: 'abort', requestId: 'r', attempt: 1 } })
    expect(machine.poolCounts().draining).toBe(2)
    expect(kinds(step({ kind: 'forward_done', result: resultOf(plan), seconds: 0 }))).toEqual(['released'])
  })
})

describe('the channel', () => {
  for (const kind of ['link_down', 'link_up'] as const) {
    it(`fails what still waits for frames at ${kind}, and nothing that is armed`, () => {
      const { step } = started()
      fill(step, 'armed', reserve(step, 'armed'))
      reserve(step, 'waiting')
      expect(words(step({ kind }))).toMatchObject([
        { kind: 'channel', up: kind === 'link_up' },
        { kind: 'failed', requestId: 'waiting', code: 'worker_lost' },
        { kind: 'released', requestId: 'waiting' },
      ])
    })
  }
})
