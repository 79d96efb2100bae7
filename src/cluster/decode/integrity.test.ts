import { describe, expect, it } from 'vitest'
import type { DecodeEffect } from '../effects.ts'
import { fullFences } from '../full-fences.ts'
import type { ManifestFrame } from '../messages.ts'
import {
  fill,
  framesOf,
  kinds,
  manifestOf,
  place,
  planOf,
  reserve,
  type Step,
  started,
  words,
} from '../testing/decode-kit.ts'
import { idsOf, ofKind, resultOf } from '../testing/kit.ts'

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

describe('R10: a manifest', () => {
  it('that names another request is nobody’s', () => {
    for (const other of [{ requestId: 'other' }, { attempt: 2 }]) {
      const { step } = started()
      const lease = reserve(step, 'r')
      for (const frame of framesOf('r', lease, idsOf(6))) place(step, frame)
      const honest = manifestOf('r', lease, idsOf(6))
      const effects = step({ kind: 'manifest', frame: { ...honest, ...other } })
      expect(ofKind(effects, 'telemetry').map(({ event }) => event)).toEqual([
        { kind: 'transfer_violation', reason: 'wrong_identity' },
      ])
      expect(kinds(effects)).toEqual([])
      expect(kinds(step({ kind: 'manifest', frame: honest }))).toEqual(['armed'])
    }
  })

  it('is believed once: a second one changes nothing', () => {
    const { step } = started()
    const lease = reserve(step, 'r')
    const [first, ...frames] = framesOf('r', lease, idsOf(6))
    for (const frame of frames) place(step, frame)
    const manifest = manifestOf('r', lease, idsOf(6))
    const [last] = ofKind(step({ kind: 'page_frame', frame: first! }), 'place')
    step({ kind: 'manifest', frame: manifest })
    const again = step({ kind: 'manifest', frame: { ...manifest, rows: 1 } })
    expect(ofKind(again, 'telemetry').map(({ event }) => event)).toEqual([
      { kind: 'transfer_violation', reason: 'duplicate' },
    ])
    expect(kinds(step({ kind: 'placed', id: last!.id, outcome: 'ok' }))).toEqual(['armed'])
  })
})

describe('R6: a frame of an armed request', () => {
  it('is what an honest peer may still send, and is not placed', () => {
    const { step } = started()
    const lease = reserve(step, 'r')
    fill(step, 'r', lease)
    const effects = step({ kind: 'page_frame', frame: framesOf('r', lease, idsOf(6))[0]! })
    expect(effects).toEqual([{ kind: 'discard', reason: 'closed' }])
  })
})

describe('R5: a step', () => {
  it('whose pages are no longer its own is not even planned', () => {
    // The two prompt pages are the request's own when it is judged, and no more when its first step is planned.
    let looks = Number.POSITIVE_INFINITY
    const pages = { ...fullFences().pages, owner: () => looks-- > 0 }
    const { step } = started(12, { fences: { ...fullFences(), pages } })
    const lease = reserve(step, 'r')
    for (const frame of framesOf('r', lease, idsOf(6))) place(step, frame)
    looks = 2
    const end = step({ kind: 'manifest', frame: manifestOf('r', lease, idsOf(6)) })
    expect(ofKind(end, 'forward')).toEqual([])
    expect(kinds(end).slice(0, 2)).toEqual(['armed', 'failed'])
    expect(ofKind(words(end), 'failed')[0]!.detail).toBe('R5 stale_handle page 0')
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

  it('that no page is to blame for makes every page suspect in which something stands, and no other’s', () => {
    const { machine, step } = started()
    const alone = planOf(fill(step, 'a', reserve(step, 'a')))
    fill(step, 'b', reserve(step, 'b'))
    const both = planOf(step({ kind: 'forward_done', result: resultOf(alone), seconds: 0 }))
    const good = resultOf(both)
    const fault = { kind: 'not_finite', page: -1, layer: 0 } as const
    const results = [{ ...good.results[0]!, fault, sampled: null }, good.results[1]!]
    const end = step({ kind: 'forward_done', result: { ...good, results }, seconds: 0 })
    const suspects = ofKind(end, 'telemetry').flatMap(({ event }) =>
      event.kind === 'page_quarantined' ? [event.page] : [],
    )
    // Of its three pages the last has no row yet.
    expect(suspects).toEqual([...both.sequences[0]!.table.pages.subarray(0, 2)])
    const [scrub] = ofKind(end, 'scrub')
    expect([...scrub!.pages].sort()).toEqual(suspects)
    step({ kind: 'scrubbed', id: scrub!.id })
    expect(machine.poolCounts()).toMatchObject({ free: 9, quarantined: 0 })
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
