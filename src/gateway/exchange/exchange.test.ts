import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Verdict } from '../../admission/index.ts'
import type { EngineEvent } from '../../cluster/index.ts'
import { createDetokenizer, createStopScanner } from '../../text/index.ts'
import { errorBody } from '../errors.ts'
import { byteTokenizer, endId } from '../testing/doubles.ts'
import { createExchange, type Exchange, type ExchangeEffect, type ExchangeEvent } from './index.ts'

const admitted = (n = 1, maxOutput = 100): Verdict => ({
  kind: 'admitted',
  contract: { promptTokens: 10, maxOutput, n, prefillPages: 1, decodePages: 7 },
})

const refused: Verdict = {
  kind: 'refused',
  bound: 'prefill_pool',
  promptTokens: 2000,
  promptTokensIs: 'exact',
  outputTokens: 0,
  nCtx: 1024,
  cause: 'prompt',
}

const limited = errorBody({ code: 'rate_limit_exceeded', message: 'later' })

const create = (stop: readonly string[] = [], logprobs = false): Exchange =>
  createExchange({
    endIds: [endId],
    logprobs,
    detokenizer: () => createDetokenizer(byteTokenizer),
    stopScanner: () => createStopScanner(stop),
  })

const engine = (event: EngineEvent): ExchangeEvent => ({ kind: 'engine', event })
const token = (id: number, index: number, sequence = 0): ExchangeEvent =>
  engine({ kind: 'token', sequence, index, sampled: { token: id, logprob: -1, top: [] } })
const finished = (sequence = 0, reason: 'stop' | 'length' = 'stop'): ExchangeEvent =>
  engine({ kind: 'sequence_finished', sequence, reason })
const done = engine({ kind: 'done' })
const failed = engine({ kind: 'failed', code: 'worker_lost', retryAfterSeconds: 2 })

const run = (exchange: Exchange, ...events: readonly ExchangeEvent[]): ExchangeEffect[] =>
  events.flatMap((event) => [...exchange.step(event)])

const started = (n = 1, stop: readonly string[] = [], logprobs = false, maxOutput = 100): Exchange => {
  const exchange = create(stop, logprobs)
  run(exchange, { kind: 'verdict', verdict: admitted(n, maxOutput) }, { kind: 'cleared' })
  return exchange
}

const say = (text: string, sequence = 0, from = 0): ExchangeEvent[] =>
  [...new TextEncoder().encode(text)].map((byte, i) => token(byte, from + i, sequence))

const textOf = (effects: readonly ExchangeEffect[], sequence = 0): string =>
  effects.map((effect) => (effect.kind === 'text' && effect.sequence === sequence ? effect.text : '')).join('')

describe("a request's life", () => {
  it('goes received, judged, waiting, streaming, ended', () => {
    const exchange = create()
    const states = [exchange.state()]
    const events: ExchangeEvent[] = [
      { kind: 'verdict', verdict: admitted() },
      { kind: 'cleared' },
      engine({ kind: 'queued' }),
      engine({ kind: 'started' }),
      token(65, 0),
      finished(),
      done,
    ]
    for (const event of events) {
      exchange.step(event)
      states.push(exchange.state())
    }
    expect(states).toEqual(['received', 'judged', 'waiting', 'waiting', 'waiting', 'streaming', 'streaming', 'ended'])
  })

  it('counts what the engine had cached of the prompt', () => {
    const cached = engine({ kind: 'cached', tokens: 8 })
    expect(run(started(), cached, token(65, 0), finished(), done).at(-1)).toMatchObject({
      ending: { usage: { promptTokens: 10, cachedTokens: 8 } },
    })
    const absurd = engine({ kind: 'cached', tokens: 11 })
    expect(run(started(), absurd)).toMatchObject([{ kind: 'abort' }, { ending: { code: 'broken_stream' } }])
  })

  it('has the effects submit, begin, text, finish and one end', () => {
    const exchange = create()
    const effects = run(
      exchange,
      { kind: 'verdict', verdict: admitted() },
      { kind: 'cleared' },
      ...say('hi'),
      token(endId, 2),
      finished(),
      done,
    )
    expect(effects.map(({ kind }) => kind)).toEqual(['submit', 'begin', 'text', 'text', 'finish', 'end'])
    expect(effects.at(-1)).toEqual({
      kind: 'end',
      ending: { kind: 'complete', usage: { promptTokens: 10, cachedTokens: 0, completionTokens: 3 } },
    })
  })

  it('a refused request is never submitted, whatever comes later (R1)', () => {
    const exchange = create()
    const effects = run(exchange, { kind: 'verdict', verdict: refused }, { kind: 'cleared' }, token(65, 0), done)
    expect(effects).toEqual([{ kind: 'end', ending: { kind: 'refused', verdict: refused } }])
  })

  it('a request that is held back is not submitted', () => {
    const effects = run(
      create(),
      { kind: 'verdict', verdict: admitted() },
      { kind: 'held_back', error: limited },
      { kind: 'cleared' },
    )
    expect(effects).toEqual([{ kind: 'end', ending: { kind: 'held_back', error: limited } }])
  })

  it('is not cleared before it is judged (R13)', () => {
    expect(run(create(), { kind: 'cleared' }, { kind: 'held_back', error: limited }, token(65, 0))).toEqual([])
  })
})

describe('endings (R12)', () => {
  it('a failure before output has not begun; after output it has', () => {
    expect(run(started(), failed)).toMatchObject([
      { kind: 'end', ending: { kind: 'failed', code: 'worker_lost', begun: false, retryAfterSeconds: 2 } },
    ])
    expect(run(started(), token(65, 0), failed).at(-1)).toMatchObject({
      ending: { kind: 'failed', begun: true, usage: { completionTokens: 1 } },
    })
  })

  it('a client that goes away aborts the engine, once', () => {
    const exchange = started()
    expect(run(exchange, token(65, 0), { kind: 'client_gone' }, { kind: 'client_gone' }).slice(-2)).toEqual([
      { kind: 'abort' },
      { kind: 'end', ending: { kind: 'abandoned', usage: { promptTokens: 10, cachedTokens: 0, completionTokens: 1 } } },
    ])
    expect(run(exchange, token(66, 1), done, failed)).toEqual([])
  })

  it('a client that goes away before the hand-over aborts nothing', () => {
    const effects = run(create(), { kind: 'verdict', verdict: admitted() }, { kind: 'client_gone' })
    expect(effects.map(({ kind }) => kind)).toEqual(['end'])
  })

  it.each([
    ['a token of an unknown sequence', [token(65, 0, 1)]],
    ['a gap', [token(65, 0), token(66, 2)]],
    ['a repetition', [token(65, 0), token(65, 0)]],
    ['more than was contracted', [...say('abcd'), token(65, 4)]],
    ['an unknown sequence that ends', [finished(3)]],
    ['an end while a sequence is open', [token(65, 0), done]],
  ])('%s is an error, never an answer', (_name, events) => {
    const effects = run(started(1, [], false, 4), ...events)
    expect(effects.slice(-2)).toMatchObject([
      { kind: 'abort' },
      { kind: 'end', ending: { kind: 'failed', code: 'broken_stream' } },
    ])
  })

  it('whatever the order of events, there is at most one end and nothing after it', () => {
    const anyEvent = fc.oneof(
      fc.constantFrom<ExchangeEvent>(
        { kind: 'verdict', verdict: admitted(2) },
        { kind: 'verdict', verdict: refused },
        { kind: 'cleared' },
        { kind: 'held_back', error: limited },
        { kind: 'client_gone' },
        engine({ kind: 'queued' }),
        engine({ kind: 'started' }),
        done,
        failed,
      ),
      fc.tuple(fc.nat(256), fc.nat(3), fc.nat(2)).map(([id, index, sequence]) => token(id, index, sequence)),
      fc.nat(2).map((sequence) => finished(sequence)),
    )
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
        const effects = run(create(['b']), ...events)
        const ends = effects.filter(({ kind }) => kind === 'end')
        expect(ends.length).toBeLessThanOrEqual(1)
        if (ends.length === 1) expect(effects.at(-1)?.kind).toBe('end')
        const begun = effects.findIndex(({ kind }) => kind === 'begin')
        const text = effects.findIndex(({ kind }) => kind === 'text')
        if (text >= 0) expect(begun).toBeGreaterThanOrEqual(0)
        expect(effects.filter(({ kind }) => kind === 'begin').length).toBeLessThanOrEqual(1)
      }),
      { numRuns: 500 },
    )
  })
})

describe('text', () => {
  it('never splits a character over two effects', () => {
    const effects = run(started(), ...say('aé€😀z'))
    for (const effect of effects) {
      if (effect.kind === 'text') expect(effect.text).not.toContain('\ufffd')
    }
    expect(textOf(effects)).toBe('aé€😀z')
  })

  it.each([0, 1, 99])('“length” after %i of 100 tokens is an error, whoever says so', (count) => {
    const tokens = Array.from({ length: count }, (_, i) => token(0x61, i))
    const effects = run(started(1, [], false, 100), ...tokens, finished(0, 'length'), done)
    expect(effects.at(-1)).toMatchObject({ kind: 'end', ending: { kind: 'failed', code: 'broken_stream' } })
    expect(effects.filter(({ kind }) => kind === 'abort')).toHaveLength(1)
    expect(effects.filter(({ kind }) => kind === 'finish')).toEqual([])
  })

  it('an unfinished character at the end becomes U+FFFD', () => {
    expect(textOf(run(started(1, [], false, 2), token(0xe2, 0), token(0x82, 1), finished(0, 'length'), done))).toBe(
      '\ufffd',
    )
  })

  it('a stop string ends its sequence, never shows, and tells the engine', () => {
    const effects = run(started(1, ['END']), ...say('one ENDtwo'), finished(), done)
    expect(textOf(effects)).toBe('one ')
    expect(effects.filter(({ kind }) => kind !== 'text')).toEqual([
      { kind: 'begin' },
      { kind: 'finish', sequence: 0, reason: 'stop' },
      { kind: 'finish_sequence', sequence: 0 },
      { kind: 'end', ending: { kind: 'complete', usage: { promptTokens: 10, cachedTokens: 0, completionTokens: 7 } } },
    ])
  })

  it('what looked like a stop string comes out at the end', () => {
    const effects = run(started(1, ['END'], false, 6), ...say('the EN'), finished(0, 'length'), done)
    expect(textOf(effects)).toBe('the EN')
    expect(effects).toContainEqual({ kind: 'finish', sequence: 0, reason: 'length' })
  })

  it('sequences are apart: one may stop while another goes on', () => {
    const exchange = started(2, ['.'], false, 3)
    const effects = run(
      exchange,
      ...say('a', 0),
      ...say('x', 1),
      ...say('.', 0, 1),
      ...say('yz', 1, 1),
      finished(1, 'length'),
      done,
    )
    expect([textOf(effects, 0), textOf(effects, 1)]).toEqual(['a', 'xyz'])
    expect(effects.at(-1)).toMatchObject({ ending: { kind: 'complete', usage: { completionTokens: 5 } } })
  })
})

describe('log-probabilities', () => {
  const offsets = (effects: readonly ExchangeEffect[]): number[] =>
    effects.flatMap((effect) => (effect.kind === 'text' ? effect.tokens.map(({ offset }) => offset) : []))

  it('every token whose text leaves is reported once, with its place', () => {
    expect(offsets(run(started(1, [], true), ...say('ab€c'), token(endId, 6), finished(), done))).toEqual([
      0, 1, 2, 2, 2, 3,
    ])
  })

  it('tokens that a stop string cut off are not reported', () => {
    expect(offsets(run(started(1, ['END'], true), ...say('ab END')))).toEqual([0, 1, 2])
  })

  it('none are kept when none were asked for', () => {
    expect(offsets(run(started(), ...say('abc')))).toEqual([])
  })
})
