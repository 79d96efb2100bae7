import { describe, expect, it } from 'vitest'
import { tokenDigest } from '../../admission/index.ts'
import type { DecodeEffect } from '../effects.ts'
import type { DecodeEvent } from '../events.ts'
import { fullFences } from '../full-fences.ts'
import type { DecodeToRouter, Lease, ManifestFrame, PageFrame } from '../messages.ts'
import {
  type Asked,
  crypto,
  decodeOptions,
  idsOf,
  LAYERS,
  ofKind,
  PAGE_SIZE,
  reserveFor,
  resultOf,
  said,
  ticketFor,
} from '../testing/kit.ts'
import { DecodeMachine } from './machine.ts'

type Untimed<T> = T extends unknown ? Omit<T, 'now'> : never

const started = (pages = 12, changes = {}) => {
  const machine = new DecodeMachine(decodeOptions(pages, changes))
  const step = (event: Untimed<DecodeEvent>): DecodeEffect[] => machine.step({ ...event, now: 0 } as DecodeEvent)
  step({ kind: 'start' })
  step({ kind: 'link_up' })
  return { machine, step }
}
type Step = ReturnType<typeof started>['step']
const words = (effects: DecodeEffect[]): DecodeToRouter[] => said<DecodeToRouter>(effects)
const kinds = (effects: DecodeEffect[]): string[] => words(effects).map((message) => message.kind)
const planOf = (effects: DecodeEffect[]) => ofKind(effects, 'forward')[0]!.plan

const reserve = (step: Step, requestId: string, asked: Asked = {}): Lease =>
  ofKind(words(step({ kind: 'message', message: reserveFor(requestId, asked) })), 'reserved')[0]!.lease

const framesOf = (requestId: string, lease: Lease, ids: Int32Array): PageFrame[] =>
  Array.from({ length: Math.ceil(ids.length / PAGE_SIZE) * LAYERS }, (_, i) => {
    const ordinal = Math.floor(i / LAYERS)
    const rows = Math.min(PAGE_SIZE, ids.length - ordinal * PAGE_SIZE)
    return { kind: 'page', requestId, attempt: 1, lease, layer: i % LAYERS, ordinal, rows, seal: new Uint8Array(16) }
  })

const manifestOf = (requestId: string, lease: Lease, ids: Int32Array): ManifestFrame => ({
  kind: 'manifest',
  requestId,
  attempt: 1,
  lease,
  pages: Math.ceil(ids.length / PAGE_SIZE),
  rows: ids.length,
  layers: LAYERS,
  tokenDigest: tokenDigest(ids, crypto),
})

const place = (step: Step, frame: PageFrame): DecodeEffect[] => {
  const [effect] = ofKind(step({ kind: 'page_frame', frame }), 'place')
  return effect === undefined ? [] : step({ kind: 'placed', id: effect.id, outcome: 'ok' })
}

/** Delivers the whole prompt; returns what the manifest led to. */
const fill = (step: Step, requestId: string, lease: Lease, ids = idsOf(6)): DecodeEffect[] => {
  for (const frame of framesOf(requestId, lease, ids)) place(step, frame)
  return step({ kind: 'manifest', frame: manifestOf(requestId, lease, ids) })
}

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

describe('R4: contract before sample', () => {
  it('names the first page that did not come, and never samples', () => {
    const { step } = started()
    const ids = idsOf(8)
    const lease = reserve(step, 'r', { ids })
    for (const frame of framesOf('r', lease, ids).slice(0, 2)) place(step, frame)
    const end = step({ kind: 'manifest', frame: manifestOf('r', lease, ids) })
    expect(ofKind(end, 'forward')).toEqual([])
    expect(words(end)[0]).toMatchObject({ kind: 'failed', code: 'contract_mismatch' })
    expect(ofKind(words(end), 'failed')[0]!.detail).toMatch(
      /^R4 page_rows of page 1 \(1 of its table\) layer 0: 0 delivered, 4 contracted$/,
    )
  })

  const lies: Partial<ManifestFrame>[] = [{ pages: 1 }, { rows: 5 }, { layers: 1 }, { tokenDigest: 'ff' }]
  for (const lie of lies) {
    it(`refuses a manifest that says ${JSON.stringify(lie)}`, () => {
      const { step } = started()
      const lease = reserve(step, 'r')
      for (const frame of framesOf('r', lease, idsOf(6))) place(step, frame)
      const end = step({ kind: 'manifest', frame: { ...manifestOf('r', lease, idsOf(6)), ...lie } })
      expect(words(end)[0]).toMatchObject({ kind: 'failed', code: 'contract_mismatch' })
    })
  }

  it('waits for frames that are still being placed', () => {
    const { step } = started()
    const lease = reserve(step, 'r')
    const frames = framesOf('r', lease, idsOf(6))
    for (const frame of frames.slice(1)) place(step, frame)
    const [last] = ofKind(step({ kind: 'page_frame', frame: frames[0]! }), 'place')
    expect(kinds(step({ kind: 'manifest', frame: manifestOf('r', lease, idsOf(6)) }))).toEqual([])
    expect(kinds(step({ kind: 'placed', id: last!.id, outcome: 'ok' }))).toEqual(['armed'])
  })
})

describe('R5 and R8 stand alone', () => {
  const short = (step: Step): DecodeEffect[] => {
    const ids = idsOf(8)
    const lease = reserve(step, 'r', { ids })
    for (const frame of framesOf('r', lease, ids).slice(0, 2)) place(step, frame)
    return step({ kind: 'manifest', frame: manifestOf('r', lease, ids) })
  }
  const open = { ...fullFences(), contract: () => null }
  const unsealed = { key: () => null, missing: () => null }

  it('without R4 a page without a verified seal is named (R8)', () => {
    const { step } = started(12, { fences: open })
    expect(words(short(step))[0]).toMatchObject({
      kind: 'failed',
      code: 'kv_integrity',
      detail: expect.stringMatching(/^R8 seal of page 1 /),
    })
  })

  it('without R4 and R8 the page whose rows do not stand is named (R5)', () => {
    const { step } = started(12, { fences: { ...open, seals: unsealed } })
    expect(words(short(step))[0]).toMatchObject({
      kind: 'failed',
      code: 'kv_integrity',
      detail: expect.stringMatching(/^R5 page 1 /),
    })
  })

  it('without all three it samples over pages that nobody filled', () => {
    const pages = { ...fullFences().pages, owner: () => true, filled: () => true }
    const { step } = started(12, { fences: { ...open, seals: unsealed, pages } })
    expect(ofKind(short(step), 'forward')).toHaveLength(1)
  })
})

describe('R8: a page that does not verify', () => {
  it('ends its request and stays in quarantine until it is overwritten', () => {
    const { machine, step } = started()
    const lease = reserve(step, 'r')
    const [effect] = ofKind(step({ kind: 'page_frame', frame: framesOf('r', lease, idsOf(6))[0]! }), 'place')
    expect(effect!.lineageKey).toHaveLength(32)
    const end = step({ kind: 'placed', id: effect!.id, outcome: 'bad_seal' })
    expect(words(end)).toMatchObject([{ kind: 'failed', code: 'kv_integrity' }])
    expect(ofKind(end, 'close_lease')[0]!.lease).toEqual(lease)
    expect(machine.poolCounts()).toMatchObject({ quarantined: 1, owned: 0 })
    const [scrub] = ofKind(end, 'scrub')
    expect([...scrub!.pages]).toEqual([effect!.page])
    expect(kinds(step({ kind: 'scrubbed', id: scrub!.id }))).toEqual(['released'])
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

describe('a fault in a pass', () => {
  it('ends that request alone', () => {
    const { step } = started()
    const alone = planOf(fill(step, 'a', reserve(step, 'a')))
    fill(step, 'b', reserve(step, 'b'))
    const both = planOf(step({ kind: 'forward_done', result: resultOf(alone), seconds: 0 }))
    const good = resultOf(both)
    const page = both.sequences[0]!.table.pages[0]!
    const fault = { kind: 'unfilled_row', page, layer: 0 } as const
    const end = step({
      kind: 'forward_done',
      result: { ...good, results: [{ ...good.results[0]!, fault }, good.results[1]!] },
      seconds: 0,
    })
    expect(words(end)).toMatchObject([
      { kind: 'failed', requestId: both.sequences[0]!.requestId, code: 'kv_integrity' },
      { kind: 'token', requestId: both.sequences[1]!.requestId },
    ])
  })

  it('gives rows that changed places to nobody, also within one request (R10)', () => {
    const { step } = started()
    const copying = fill(step, 'r', reserve(step, 'r', { n: 2 }))
    const plan = planOf(step({ kind: 'copied', id: ofKind(copying, 'copy_rows')[0]!.id }))
    const result = resultOf(plan)
    const end = step({
      kind: 'forward_done',
      result: { ...result, results: [...result.results].reverse() },
      seconds: 0,
    })
    expect(words(end)).toMatchObject([
      { kind: 'failed', code: 'kv_integrity', detail: 'R10 row_misnamed' },
      { kind: 'released' },
    ])
  })
})
