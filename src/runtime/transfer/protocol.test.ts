import { describe, expect, test } from 'vitest'
import { nodeDigests } from '../../host/node/index.ts'
import { FRAME_TYPES, pageHeader } from './frame.ts'
import { helloHeader, sessionKeys } from './handshake.ts'
import { createSealer } from './session.ts'
import { fuzzTransfer } from './testing/fuzz.ts'
import { fuzzAnswers } from './testing/fuzz-answers.ts'
import { strikes } from './testing/hostility.ts'
import { joined, manifest, optionsOf, page, rowsOf, side } from './testing/pair.ts'

describe('handshake', () => {
  test('both sides come up once', () => {
    const { from, to } = joined()
    expect([from.heard.ups, to.heard.ups, from.protocol.up, to.protocol.up]).toEqual([1, 1, true, true])
    expect([from.heard.joins, to.heard.joins]).toEqual([1, 1])
  })

  test('decode is up before prefill, and each knows when the other is', () => {
    const from = side(optionsOf('prefill'))
    const to = side(optionsOf('decode'))
    const state = (): unknown[] => [from.protocol.up, from.heard.joins, to.protocol.up, to.heard.joins]
    from.protocol.start()
    to.protocol.receive(from.take())
    from.protocol.receive(to.take())
    expect(state()).toEqual([false, 0, false, 0])
    to.protocol.receive(from.take())
    expect(state()).toEqual([false, 0, true, 0])
    from.protocol.receive(to.take())
    expect(state()).toEqual([true, 1, true, 0])
    to.protocol.receive(from.take())
    expect(state()).toEqual([true, 1, true, 1])
  })

  test('the proof of another key is refused by either side', () => {
    const other = new Uint8Array(32).fill(8)
    const { from } = joined(optionsOf('prefill', { linkKey: other }))
    expect([from.heard.ups, from.protocol.receive(Buffer.alloc(1))]).toEqual([0, 'bad_proof'])
  })

  test('a recorded handshake cannot be played to a new connection', () => {
    const first = side(optionsOf('prefill'))
    const decode = side(optionsOf('decode'))
    first.protocol.start()
    const hello = first.take()
    decode.protocol.receive(hello)
    first.protocol.receive(decode.take())
    const proof = first.take()
    const again = side(optionsOf('decode', { nonce: new Uint8Array(32).fill(9) }))
    expect(again.protocol.receive(Buffer.concat([hello, proof]))).toBe('bad_proof')
    expect(again.heard.ups).toBe(0)
  })

  test.each([
    ['wrong_model', { model: 'other' }],
    ['wrong_weights', { weights: 'ff' }],
    ['wrong_shape', { shape: { pages: 8, pageSize: 8, layers: 2, kvHeads: 1, headDim: 4 } }],
  ])('%s', (violation, change) => {
    const own = { ...optionsOf('prefill').own, ...change }
    const from = side(optionsOf('prefill', { own }))
    const to = side(optionsOf('decode'))
    from.protocol.start()
    expect(to.protocol.receive(from.take())).toBe(violation)
    expect(to.take()).toHaveLength(0)
  })

  test('two of the same role do not join', () => {
    const from = side(optionsOf('prefill'))
    from.protocol.start()
    expect(side(optionsOf('prefill')).protocol.receive(from.take())).toBe('wrong_role')
  })

  test('pools may differ in their number of pages', () => {
    const shape = { ...optionsOf('prefill').own.shape, pages: 99 }
    const { to } = joined(optionsOf('prefill', { own: { ...optionsOf('prefill').own, shape } }))
    expect(to.protocol.up).toBe(true)
  })

  test('decode says nothing before it has seen a hello, and no page counts before proof', () => {
    const to = side(optionsOf('decode'))
    to.protocol.start()
    expect(to.take()).toHaveLength(0)
    const { from } = joined()
    from.protocol.sendPage(page(0), rowsOf(4, 1))
    expect(to.protocol.receive(from.take())).toBe('unexpected_frame')
    expect(to.heard.pages).toHaveLength(0)
  })
})

describe('frames', () => {
  test('pages, manifest and closed leases arrive as they were sent', () => {
    const { from, to } = joined()
    from.protocol.sendPage(page(0), rowsOf(4, 1))
    from.protocol.sendPage(page(1, { rows: 2 }), rowsOf(2, 2))
    from.protocol.sendManifest(manifest())
    expect(to.protocol.receive(from.take())).toBeNull()
    expect(to.heard.pages.map(({ frame }) => frame)).toEqual([page(0), page(1, { rows: 2 })])
    expect(to.heard.pages[1]!.rows).toEqual(rowsOf(2, 2))
    expect(to.heard.manifests).toEqual([manifest()])
    to.protocol.sendLeaseClosed({ kind: 'lease_closed', lease: { id: 5, epoch: 6 } })
    expect(from.protocol.receive(to.take())).toBeNull()
    expect(from.heard.closed).toEqual([5])
  })

  test('the same whether they come a byte at a time or all at once', () => {
    const { from, to } = joined()
    for (let at = 0; at < 5; at += 1) from.protocol.sendPage(page(at), rowsOf(4, at))
    for (const byte of from.take()) expect(to.protocol.receive(Buffer.from([byte]))).toBeNull()
    expect(to.heard.pages.map(({ rows }) => rows[0])).toEqual([0, 1, 2, 3, 4])
  })

  test.each([
    ['a changed header', 'bad_tag', (bytes: Buffer) => flip(bytes, 40)],
    ['a changed tag', 'bad_tag', (bytes: Buffer) => flip(bytes, 17)],
    ['another version', 'wrong_version', (bytes: Buffer) => flip(bytes, 4)],
    ['a length of 4 GiB', 'frame_too_long', (bytes: Buffer) => put(bytes, 0, 0xff, 0xff, 0xff, 0xff)],
    ['a length of 1', 'frame_too_short', (bytes: Buffer) => put(bytes, 0, 1, 0, 0, 0)],
    ['a header longer than its frame', 'header_too_long', (bytes: Buffer) => put(bytes, 6, 0xe8, 0x03)],
  ] as const)('%s is %s', (_name, violation, damage) => {
    const { from, to } = joined()
    from.protocol.sendPage(page(0), rowsOf(4, 1))
    expect(to.protocol.receive(damage(from.take()))).toBe(violation)
    expect(to.heard.pages).toHaveLength(0)
    from.protocol.sendManifest(manifest())
    expect(to.protocol.receive(from.take())).toBe(violation)
    expect(to.heard.manifests).toHaveLength(0)
  })

  test('a repeated, a skipped and a swapped frame are out of order', () => {
    for (const arrange of [[0, 0], [1], [1, 0]]) {
      const { from, to } = joined()
      const frames = [0, 1].map((at) => {
        from.protocol.sendPage(page(at), rowsOf(4, at))
        return from.take()
      })
      expect(to.protocol.receive(Buffer.concat(arrange.map((at) => frames[at]!)))).toBe('out_of_order')
      expect(to.heard.pages.length).toBe(arrange.length === 2 && arrange[0] === 0 ? 1 : 0)
    }
  })

  test('a frame of another session does not verify', () => {
    const other = joined(optionsOf('prefill', { nonce: new Uint8Array(32).fill(77) })).from
    other.protocol.sendPage(page(0), rowsOf(4, 1))
    expect(joined().to.protocol.receive(other.take())).toBe('bad_tag')
  })

  test('a frame sent back to its maker does not verify', () => {
    const { from } = joined()
    from.protocol.sendPage(page(0), rowsOf(4, 1))
    expect(from.protocol.receive(from.take())).toBe('bad_tag')
  })

  test.each([0, 5, 3])('%i rows said and four sent is a wrong length', (rows) => {
    const { from, to } = joined()
    from.protocol.sendPage(page(0, { rows }), rowsOf(4, 1))
    expect(to.protocol.receive(from.take())).toBe('wrong_payload_length')
    expect(to.heard.pages).toHaveLength(0)
  })

  test('a peer that holds the keys cannot send headers that do not parse, or kinds that are not its to send', () => {
    const hellos = [optionsOf('prefill'), optionsOf('decode')].map((options) => helloHeader(options.own, options.nonce))
    const keys = sessionKeys(nodeDigests, optionsOf('prefill').linkKey, 'prefill', hellos[0]!, hellos[1]!)
    const long = Buffer.concat([pageHeader(page(0)), Buffer.alloc(1)])
    const cases = [
      ['malformed_header', FRAME_TYPES.page, pageHeader(page(0)).subarray(0, -1)],
      ['malformed_header', FRAME_TYPES.page, long],
      ['malformed_header', FRAME_TYPES.page, put(pageHeader(page(0)), 0, 0xff, 0xff)],
      ['malformed_header', FRAME_TYPES.page, put(pageHeader(page(0)), 2, 0xff)],
      ['malformed_header', FRAME_TYPES.manifest, pageHeader(page(0))],
      ['unexpected_frame', FRAME_TYPES.leaseClosed, Buffer.alloc(12)],
      ['unexpected_frame', FRAME_TYPES.hello, hellos[0]!],
    ] as const
    for (const [violation, type, header] of cases) {
      const { to } = joined()
      const seal = createSealer(keys.send, nodeDigests)
      // The first number went to the frame that joined.
      seal(FRAME_TYPES.joined, new Uint8Array(0), 0)
      expect(to.protocol.receive(seal(type, header, 0))).toBe(violation)
      expect([to.heard.pages, to.heard.manifests]).toEqual([[], []])
    }
  })

  test('nothing of a chunk is heard after stop', () => {
    const { from, to } = joined()
    from.protocol.sendPage(page(0), rowsOf(4, 1))
    from.protocol.sendPage(page(1), rowsOf(4, 1))
    const bytes = from.take()
    const heard = to.heard.pages
    const push = heard.push.bind(heard)
    heard.push = (...items) => {
      to.protocol.stop()
      return push(...items)
    }
    to.protocol.receive(bytes)
    expect(heard).toHaveLength(1)
  })
})

// FUZZ_FRAMES=1000000 FUZZ_SEED=7 npm test -- src/runtime/transfer: a long run, which prints its counts.
const frames = Number(process.env.FUZZ_FRAMES ?? 25_000)
const seed = Number(process.env.FUZZ_SEED ?? 1)

test(`${frames} hostile frames touch no page of a decode worker that keeps taking honest ones`, {
  timeout: 600_000,
}, () => {
  const report = fuzzTransfer({ frames, seed })
  if (process.env.FUZZ_FRAMES) console.log(report)
  expect(report.failures).toEqual([])
  expect(report.total).toBeGreaterThanOrEqual(frames)
  expect(report.placed).toBeGreaterThan(frames / 10)
  // The run must reach every kind of hostility and every way of being refused, or the test says less than its name.
  for (const [kind, times] of report.hostile) expect(times, kind).toBeGreaterThan(frames / 2000)
  const endings = [
    'frame_too_short',
    'frame_too_long',
    'wrong_version',
    'header_too_long',
    'bad_tag',
    'out_of_order',
  ] as const
  const inside = ['wrong_payload_length', 'unexpected_frame', 'none'] as const
  for (const ending of [...endings, ...inside]) expect(report.violations.get(ending) ?? 0, ending).toBeGreaterThan(0)
  for (const reason of ['wrong_identity', 'out_of_bounds', 'duplicate']) {
    expect(report.refusals.get(reason) ?? 0, reason).toBeGreaterThan(0)
  }
})

test('3,000 hostile answers tell prefill of no lease that decode did not close', () => {
  const report = fuzzAnswers({ sessions: 3000, seed })
  expect(report.failures).toEqual([])
  expect(report.heard).toBeGreaterThan(3000)
  for (const kind of strikes) expect(report.struck.get(kind), kind).toBeGreaterThan(100)
})

const put = (bytes: Buffer, at: number, ...values: number[]): Buffer => {
  bytes.set(values, at)
  return bytes
}

const flip = (bytes: Buffer, at: number): Buffer => {
  bytes[at] = bytes[at]! ^ 1
  return bytes
}
