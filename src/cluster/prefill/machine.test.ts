import { describe, expect, it } from 'vitest'
import type { PrefillEffect } from '../effects.ts'
import type { PrefillEvent } from '../events.ts'
import type { PrefillToRouter } from '../messages.ts'
import { idsOf, ofKind, prefillFor, prefillOptions, resultOf, said, ticketFor } from '../testing/kit.ts'
import { PrefillMachine } from './machine.ts'

const lease = { id: 3, epoch: 9 }
type Untimed<T> = T extends unknown ? Omit<T, 'now'> : never

const started = (pages = 8, changes = {}) => {
  const machine = new PrefillMachine(prefillOptions(pages, changes))
  const step = (event: Untimed<PrefillEvent>): PrefillEffect[] => machine.step({ ...event, now: 0 } as PrefillEvent)
  step({ kind: 'start' })
  step({ kind: 'link_up' })
  return { machine, step }
}
const words = (effects: PrefillEffect[]): PrefillToRouter[] => said<PrefillToRouter>(effects)
const kinds = (effects: PrefillEffect[]): string[] => words(effects).map((message) => message.kind)
const planOf = (effects: PrefillEffect[]) => ofKind(effects, 'forward')[0]!.plan

describe('a prompt', () => {
  it('is computed in chunks; each page of a layer leaves as soon as its rows stand there', () => {
    const { step } = started(8, { chunkRows: 5 })
    const begun = step({ kind: 'message', message: prefillFor('r', lease, { ids: idsOf(6) }) })
    expect([...ofKind(begun, 'claim')[0]!.ordinals]).toEqual([0, 1])
    const first = planOf(begun)
    expect(first.sequences[0]).toMatchObject({ start: 0, write: 'append', sample: null })
    expect(first.sequences[0]!.tokens).toHaveLength(5)

    const layer0 = step({ kind: 'layer_done', planId: first.id, layer: 0 })
    expect(ofKind(layer0, 'send_page').map(({ frame }) => [frame.layer, frame.ordinal, frame.rows])).toEqual([
      [0, 0, 4],
    ])
    step({ kind: 'layer_done', planId: first.id, layer: 1 })
    const second = step({ kind: 'forward_done', result: resultOf(first), seconds: 0.001 })
    expect(ofKind(second, 'send_manifest')).toEqual([])

    const rest = planOf(second)
    expect(rest.sequences[0]!.start).toBe(5)
    const tail = step({ kind: 'layer_done', planId: rest.id, layer: 0 })
    expect(ofKind(tail, 'send_page').map(({ frame }) => [frame.layer, frame.ordinal, frame.rows])).toEqual([[0, 1, 2]])
  })

  it('ends with a manifest after its last page, and is released once when its last bytes are out', () => {
    const { machine, step } = started()
    const plan = planOf(step({ kind: 'message', message: prefillFor('r', lease) }))
    const sends = [0, 1].flatMap((layer) => ofKind(step({ kind: 'layer_done', planId: plan.id, layer }), 'send_page'))
    expect(sends).toHaveLength(4)
    const done = step({ kind: 'forward_done', result: resultOf(plan), seconds: 0.001 })
    expect(ofKind(done, 'send_manifest')[0]!.frame).toMatchObject({
      requestId: 'r',
      lease,
      pages: 2,
      rows: 6,
      layers: 2,
    })
    expect(kinds(done)).toEqual(['prefilled'])
    expect(machine.poolCounts()).toMatchObject({ draining: 2, free: 6 })
    const released = sends.flatMap(({ id }) => kinds(step({ kind: 'page_sent', id })))
    expect(released).toEqual(['released'])
    expect(machine.poolCounts().free).toBe(8)
  })

  it('sends all pages at the end of the pass if no layer was reported', () => {
    const { step } = started()
    const plan = planOf(step({ kind: 'message', message: prefillFor('r', lease) }))
    const done = step({ kind: 'forward_done', result: resultOf(plan), seconds: 0.001 })
    expect(ofKind(done, 'send_page')).toHaveLength(4)
  })

  it('shares a pass with others', () => {
    const { step } = started(8, { chunkRows: 16 })
    const first = planOf(step({ kind: 'message', message: prefillFor('a', lease) }))
    step({ kind: 'message', message: prefillFor('b', { ...lease, id: 4 }) })
    step({ kind: 'message', message: prefillFor('c', { ...lease, id: 5 }) })
    const next = planOf(step({ kind: 'forward_done', result: resultOf(first), seconds: 0.001 }))
    expect(next.sequences.map((one) => one.requestId)).toEqual(['b', 'c'])
  })
})

describe('R1, R3: what does not hold its ticket does not exist here', () => {
  const cases = {
    'a placeholder in place of the prompt': { ...prefillFor('r', lease), ids: Int32Array.of(0) },
    'a forged ticket': { ...prefillFor('r', lease), ticket: { ...ticketFor('r'), mac: '00' } },
    "another request's ticket": { ...prefillFor('r', lease), ticket: ticketFor('s') },
  }
  for (const [name, message] of Object.entries(cases)) {
    it(`declines ${name}, and takes no page`, () => {
      const { machine, step } = started()
      const effects = step({ kind: 'message', message })
      expect(words(effects)).toEqual([{ kind: 'declined', requestId: 'r', attempt: 1, code: 'bad_ticket' }])
      expect(effects).toHaveLength(1)
      expect(machine.poolCounts().free).toBe(8)
    })
  }

  it('declines a ticket used before, and ignores a second copy of a message it acts on', () => {
    const { step } = started()
    const message = prefillFor('r', lease)
    const plan = planOf(step({ kind: 'message', message }))
    expect(kinds(step({ kind: 'message', message }))).toEqual([])
    step({ kind: 'message', message: { kind: 'abort', requestId: 'r', attempt: 1 } })
    step({ kind: 'forward_done', result: resultOf(plan), seconds: 0.001 })
    expect(words(step({ kind: 'message', message }))).toMatchObject([{ kind: 'declined', code: 'bad_ticket' }])
  })

  it('declines what it has no room for', () => {
    const { step } = started(1)
    expect(words(step({ kind: 'message', message: prefillFor('r', lease) }))).toMatchObject([
      { kind: 'declined', code: 'no_room' },
    ])
  })
})

describe('R6: an end in the middle', () => {
  it('keeps the pages of a running pass until it is over', () => {
    const { machine, step } = started()
    const plan = planOf(step({ kind: 'message', message: prefillFor('r', lease) }))
    const aborted = step({ kind: 'message', message: { kind: 'abort', requestId: 'r', attempt: 1 } })
    expect(ofKind(aborted, 'retire')).toEqual([])
    expect(machine.poolCounts()).toMatchObject({ draining: 2 })
    expect(ofKind(step({ kind: 'layer_done', planId: plan.id, layer: 0 }), 'send_page')).toEqual([])
    const over = step({ kind: 'forward_done', result: resultOf(plan), seconds: 0.001 })
    expect(ofKind(over, 'retire')[0]!.pages).toHaveLength(2)
    expect(kinds(over)).toEqual(['released'])
  })

  it('is the same when decode closes the lease', () => {
    const { machine, step } = started()
    const plan = planOf(step({ kind: 'message', message: prefillFor('r', lease) }))
    step({ kind: 'peer', message: { kind: 'lease_closed', lease: { id: 3, epoch: 8 } } })
    expect(machine.poolCounts().draining).toBe(0)
    step({ kind: 'peer', message: { kind: 'lease_closed', lease } })
    expect(machine.poolCounts().draining).toBe(2)
    expect(kinds(step({ kind: 'forward_done', result: resultOf(plan), seconds: 0.001 }))).toEqual(['released'])
  })

  it('fails everything under way when the channel goes, whose end frees what was being sent', () => {
    const { machine, step } = started()
    const plan = planOf(step({ kind: 'message', message: prefillFor('r', lease) }))
    step({ kind: 'layer_done', planId: plan.id, layer: 0 })
    const down = step({ kind: 'link_down' })
    expect(words(down)).toMatchObject([
      { kind: 'channel', up: false },
      { kind: 'failed', code: 'worker_lost' },
    ])
    expect(kinds(step({ kind: 'forward_done', result: resultOf(plan), seconds: 0.001 }))).toEqual(['released'])
    expect(machine.poolCounts().free).toBe(8)
    expect(kinds(step({ kind: 'message', message: prefillFor('s', lease) }))).toEqual(['failed', 'released'])
  })
})

describe('a fault in a pass', () => {
  it('ends that request alone and quarantines the page until it is overwritten', () => {
    const { machine, step } = started(8, { chunkRows: 16 })
    const first = planOf(step({ kind: 'message', message: prefillFor('x', { ...lease, id: 1 }) }))
    step({ kind: 'message', message: prefillFor('a', { ...lease, id: 4 }) })
    step({ kind: 'message', message: prefillFor('b', { ...lease, id: 5 }) })
    const plan = planOf(step({ kind: 'forward_done', result: resultOf(first), seconds: 0.001 }))
    const good = resultOf(plan)
    const page = plan.sequences[0]!.table.pages[1]!
    const fault = { kind: 'page_tag', page, layer: 1 } as const
    const done = step({
      kind: 'forward_done',
      result: { ...good, results: [{ ...good.results[0]!, fault }, good.results[1]!] },
      seconds: 0.001,
    })
    expect(words(done)).toMatchObject([
      { kind: 'failed', requestId: 'a', code: 'kv_integrity', detail: `R5 page_tag page ${page}` },
      { kind: 'prefilled', requestId: 'b' },
    ])
    const [scrub] = ofKind(done, 'scrub')
    expect([...scrub!.pages]).toEqual([page])
    expect(machine.poolCounts().quarantined).toBe(1)
    expect(words(step({ kind: 'scrubbed', id: scrub!.id }))).toMatchObject([{ kind: 'released', requestId: 'a' }])
  })

  it('ends both whose rows changed places (R10)', () => {
    const { step } = started(8, { chunkRows: 16 })
    const first = planOf(step({ kind: 'message', message: prefillFor('x', { ...lease, id: 1 }) }))
    step({ kind: 'message', message: prefillFor('a', { ...lease, id: 4 }) })
    step({ kind: 'message', message: prefillFor('b', { ...lease, id: 5 }) })
    const plan = planOf(step({ kind: 'forward_done', result: resultOf(first), seconds: 0.001 }))
    const good = resultOf(plan)
    const done = step({
      kind: 'forward_done',
      result: { ...good, results: [...good.results].reverse() },
      seconds: 0.001,
    })
    expect(ofKind(words(done), 'failed').map((message) => [message.requestId, message.code])).toEqual([
      ['a', 'kv_integrity'],
      ['b', 'kv_integrity'],
    ])
    expect(ofKind(done, 'send_manifest')).toEqual([])
  })
})

describe('the sweep', () => {
  it('walks all held pages every so many passes and ends the owner of a page whose guard row is wrong', () => {
    const { step } = started(8, { chunkRows: 4, sweepEvery: 1 })
    const plan = planOf(step({ kind: 'message', message: prefillFor('r', lease) }))
    const [sweep] = ofKind(step({ kind: 'forward_done', result: resultOf(plan), seconds: 0.001 }), 'sweep')
    expect(sweep!.table.pages).toHaveLength(2)
    const swept = step({ kind: 'swept', id: sweep!.id, fault: { page: sweep!.table.pages[0]!, layer: 0 } })
    expect(words(swept)).toMatchObject([{ kind: 'failed', requestId: 'r', code: 'kv_integrity' }])
  })
})
