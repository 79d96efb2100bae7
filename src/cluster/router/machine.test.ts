import { describe, expect, it } from 'vitest'
import type { RouterEffect } from '../effects.ts'
import type { RouterEvent } from '../events.ts'
import type { DecodeToRouter, PrefillToRouter } from '../messages.ts'
import { ofKind, requestFor, routerOptions } from '../testing/kit.ts'
import { RouterMachine } from './machine.ts'

type Untimed<T> = T extends unknown ? Omit<T, 'now'> : never
type Said<M> = M extends { readonly kind: 'hello' } ? never : M

const PREFILL = 1
const DECODE = 2

const started = (pools = { prefill: 4, decode: 6 }, changes = {}) => {
  const machine = new RouterMachine(routerOptions(changes))
  const step = (event: Untimed<RouterEvent>, now = 0): RouterEffect[] => machine.step({ ...event, now } as RouterEvent)
  const hello = (role: 'prefill' | 'decode', epoch: number, pages = pools[role]): RouterEffect[] => {
    const shape = { pages, pageSize: 4, layers: 2, kvHeads: 1, headDim: 8 }
    const message = { kind: 'hello', role, model: 'm', weights: 'w', epoch, shape } as const
    return step(role === 'prefill' ? { kind: 'from_prefill', epoch, message } : { kind: 'from_decode', epoch, message })
  }
  const decode = (message: Said<DecodeToRouter>, epoch = DECODE) => step({ kind: 'from_decode', epoch, message })
  const prefill = (message: Said<PrefillToRouter>, epoch = PREFILL) => step({ kind: 'from_prefill', epoch, message })
  hello('prefill', PREFILL)
  hello('decode', DECODE)
  return { machine, step, hello, decode, prefill }
}

const named = (requestId: string, attempt = 1) => ({ requestId, attempt })
const delivered = (effects: RouterEffect[]): string[] =>
  ofKind(effects, 'deliver').map(({ event }) => ('code' in event ? `${event.kind} ${event.code}` : event.kind))
const toDecode = (effects: RouterEffect[]): string[] =>
  ofKind(effects, 'to_decode').map(({ message }) => `${message.kind} ${message.requestId}/${message.attempt}`)
const toPrefill = (effects: RouterEffect[]): string[] =>
  ofKind(effects, 'to_prefill').map(({ message }) => `${message.kind} ${message.requestId}/${message.attempt}`)
const token = (requestId: string, index: number, attempt = 1, sequence = 0) =>
  ({
    kind: 'token',
    ...named(requestId, attempt),
    sequence,
    index,
    sampled: { token: 9, logprob: null, top: [] },
  }) as const
const lease = { id: 1, epoch: DECODE }

/** Brings a request up to its first sample. */
const arm = ({ step, decode, prefill }: ReturnType<typeof started>, requestId: string): void => {
  step({ kind: 'submit', request: requestFor(requestId) })
  decode({ kind: 'reserved', ...named(requestId), lease })
  prefill({ kind: 'prefilled', ...named(requestId), cachedTokens: 0 })
  decode({ kind: 'armed', ...named(requestId) })
}

describe('a request', () => {
  it('is reserved in decode, prefilled under the lease, sampled, and done', () => {
    const { step, decode, prefill } = started()
    expect(toDecode(step({ kind: 'submit', request: requestFor('r') }))).toEqual(['reserve r/1'])
    const reserved = decode({ kind: 'reserved', ...named('r'), lease })
    expect(ofKind(reserved, 'to_prefill')[0]!.message).toMatchObject({
      kind: 'prefill',
      lease,
      ticket: { claims: { requestId: 'r', attempt: 1, tenant: 'a' } },
    })
    prefill({ kind: 'prefilled', ...named('r'), cachedTokens: 0 })
    expect(delivered(decode({ kind: 'armed', ...named('r') }))).toEqual(['started'])
    expect(delivered(decode(token('r', 0)))).toEqual(['token'])
    const finished = decode({ kind: 'finished', ...named('r'), sequence: 0, reason: 'length' })
    expect(delivered(finished)).toEqual(['sequence_finished', 'done'])
    expect(delivered(decode({ kind: 'released', ...named('r') }))).toEqual([])
  })

  it('is done when its last sequence is finished, whoever finished it', () => {
    const { step, decode, prefill } = started()
    step({ kind: 'submit', request: requestFor('r', { n: 2 }) })
    decode({ kind: 'reserved', ...named('r'), lease })
    prefill({ kind: 'prefilled', ...named('r'), cachedTokens: 0 })
    decode({ kind: 'armed', ...named('r') })
    expect(toDecode(step({ kind: 'finish_sequence', requestId: 'r', sequence: 1 }))).toEqual(['finish_sequence r/1'])
    expect(delivered(decode(token('r', 0, 1, 1)))).toEqual([])
    expect(delivered(decode({ kind: 'finished', ...named('r'), sequence: 0, reason: 'stop' }))).toEqual([
      'sequence_finished',
      'done',
    ])
  })
})

describe('R12: one ending', () => {
  it('follows an abort at once, and nothing follows it', () => {
    const cluster = started()
    arm(cluster, 'r')
    const aborted = cluster.step({ kind: 'abort', requestId: 'r' })
    expect(delivered(aborted)).toEqual(['done'])
    expect(toDecode(aborted)).toEqual(['abort r/1'])
    expect(toPrefill(aborted)).toEqual(['abort r/1'])
    const after = [
      cluster.step({ kind: 'abort', requestId: 'r' }),
      cluster.decode(token('r', 0)),
      cluster.decode({ kind: 'finished', ...named('r'), sequence: 0, reason: 'stop' }),
      cluster.decode({ kind: 'failed', ...named('r'), code: 'kv_integrity', detail: '' }),
    ]
    expect(after.flatMap(delivered)).toEqual([])
  })

  it('tells prefill nothing of a request it was never asked for', () => {
    const { step } = started()
    step({ kind: 'submit', request: requestFor('r') })
    const aborted = step({ kind: 'abort', requestId: 'r' })
    expect(toDecode(aborted)).toEqual(['abort r/1'])
    expect(toPrefill(aborted)).toEqual([])
  })

  it('is a failure if a token is missing or comes twice', () => {
    for (const index of [1, 2]) {
      const cluster = started()
      arm(cluster, 'r')
      if (index === 1) cluster.decode(token('r', 0))
      const wrong = cluster.decode(token('r', index === 1 ? 0 : 1))
      expect(delivered(wrong)).toEqual(['failed internal'])
      expect(toDecode(wrong)).toEqual(['abort r/1'])
    }
  })

  it('names an integrity fault', () => {
    const cluster = started()
    arm(cluster, 'r')
    expect(delivered(cluster.decode({ kind: 'failed', ...named('r'), code: 'kv_integrity', detail: 'R8' }))).toEqual([
      'failed kv_integrity',
    ])
  })
})

describe('R10: messages of another attempt', () => {
  it('are nobody’s; a reservation that nobody waits for is given up', () => {
    const { step, decode } = started()
    step({ kind: 'submit', request: requestFor('r') })
    expect(toDecode(decode({ kind: 'reserved', ...named('r', 2), lease }))).toEqual(['abort r/2'])
    expect(toDecode(decode({ kind: 'reserved', ...named('gone'), lease }))).toEqual(['abort gone/1'])
    expect(delivered(decode({ kind: 'failed', ...named('r', 2), code: 'internal', detail: '' }))).toEqual([])
  })

  it('of another life of the worker are not heard at all', () => {
    const { step, decode } = started()
    step({ kind: 'submit', request: requestFor('r') })
    expect(decode({ kind: 'failed', ...named('r'), code: 'internal', detail: '' }, DECODE + 1)).toEqual([])
  })
})

describe('the queue', () => {
  // Pools of 6 decode pages: two requests of 3 pages fit, a third waits.
  const submit = ({ step }: ReturnType<typeof started>, requestId: string, tenant = 'a') =>
    step({ kind: 'submit', request: requestFor(requestId, { tenant }) })

  it('holds a request until pages of both pools are home', () => {
    const cluster = started()
    submit(cluster, 'a')
    submit(cluster, 'b')
    expect(delivered(submit(cluster, 'c'))).toEqual(['queued'])
    expect(cluster.machine.load()).toEqual({ waiting: 1, running: 2 })
    cluster.decode({ kind: 'reserved', ...named('a'), lease })
    cluster.step({ kind: 'abort', requestId: 'a' })
    expect(toDecode(cluster.decode({ kind: 'released', ...named('a') }))).toEqual([])
    expect(toDecode(cluster.prefill({ kind: 'released', ...named('a') }))).toEqual(['reserve c/1'])
  })

  it('gives tenants turns', () => {
    const cluster = started({ prefill: 2, decode: 3 })
    for (const [requestId, tenant] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['a3', 'a'],
      ['b1', 'b'],
    ] as const)
      submit(cluster, requestId, tenant)
    const order: string[] = []
    let last = 'a1'
    for (let i = 0; i < 3; i++) {
      cluster.step({ kind: 'abort', requestId: last })
      const [reserve] = ofKind(cluster.decode({ kind: 'released', ...named(last) }), 'to_decode')
      last = reserve!.message.requestId
      order.push(last)
    }
    expect(order).toEqual(['a2', 'b1', 'a3'])
  })

  it('is full at some point', () => {
    const cluster = started({ prefill: 2, decode: 3 }, { queuePlaces: 1 })
    submit(cluster, 'a')
    submit(cluster, 'b')
    expect(delivered(submit(cluster, 'c'))).toEqual(['failed queue_full'])
  })

  it('does not keep anyone longer than the time-out', () => {
    const cluster = started({ prefill: 2, decode: 3 })
    submit(cluster, 'a')
    const waiting = submit(cluster, 'b')
    expect(ofKind(waiting, 'set_timer')).toEqual([{ kind: 'set_timer', at: 1000 }])
    expect(delivered(cluster.step({ kind: 'tick' }, 999))).toEqual([])
    expect(delivered(cluster.step({ kind: 'tick' }, 1000))).toEqual(['failed queue_timeout'])
    expect(cluster.machine.load()).toEqual({ waiting: 0, running: 1 })
  })

  it('says unavailable where a worker is missing or the pool came back too small', () => {
    const cluster = started()
    cluster.step({ kind: 'worker_down', role: 'prefill', epoch: PREFILL, reason: 'killed' })
    submit(cluster, 'a')
    expect(delivered(cluster.step({ kind: 'tick' }, 1000))).toEqual(['failed unavailable'])
    submit(cluster, 'b')
    expect(delivered(cluster.hello('prefill', 5, 1))).toEqual(['failed unavailable'])
  })

  it('holds everything back while a worker cannot reach the other', () => {
    const cluster = started()
    cluster.prefill({ kind: 'channel', up: false })
    expect(delivered(submit(cluster, 'a'))).toEqual(['queued'])
    cluster.decode({ kind: 'channel', up: false })
    expect(toDecode(cluster.prefill({ kind: 'channel', up: true }))).toEqual([])
    expect(toDecode(cluster.decode({ kind: 'channel', up: true }))).toEqual(['reserve a/1'])
  })

  it('says unavailable, and not that others were in the way, where a worker could not reach the other', () => {
    const cluster = started()
    cluster.decode({ kind: 'channel', up: false })
    submit(cluster, 'a')
    expect(delivered(cluster.step({ kind: 'tick' }, 1000))).toEqual(['failed unavailable'])
  })

  it('begins anew what came under a lease that was over', () => {
    const cluster = started()
    submit(cluster, 'a')
    cluster.decode({ kind: 'reserved', ...named('a'), lease: { id: 1, epoch: DECODE } })
    const again = cluster.prefill({ kind: 'declined', ...named('a'), code: 'lease_over' })
    expect(toDecode(again)).toEqual(['abort a/1', 'reserve a/2'])
  })

  it('takes a declined request back, as a new attempt with a new ticket', () => {
    const cluster = started()
    submit(cluster, 'a')
    const again = cluster.decode({ kind: 'declined', ...named('a'), code: 'no_room' })
    expect(toDecode(again)).toEqual(['reserve a/2'])
    expect(delivered(cluster.decode({ kind: 'declined', ...named('a', 2), code: 'no_room' }))).toEqual([
      'failed unavailable',
    ])
  })
})

describe('a worker that greets', () => {
  it('in a life older than the one known is late, and changes nothing', () => {
    const cluster = started()
    cluster.hello('decode', 9)
    cluster.step({ kind: 'submit', request: requestFor('a') })
    const late = cluster.hello('decode', 4)
    expect(ofKind(late, 'telemetry')).toEqual([])
    expect(toDecode(late)).toEqual([])
    expect(toPrefill(cluster.decode({ kind: 'reserved', ...named('a'), lease: { id: 1, epoch: 9 } }, 9))).toHaveLength(
      1,
    )
  })
})

describe('a lost worker', () => {
  it('fails what had started and begins what had not anew', () => {
    const cluster = started()
    arm(cluster, 'running')
    cluster.step({ kind: 'submit', request: requestFor('waiting') })
    const down = cluster.step({ kind: 'worker_down', role: 'decode', epoch: DECODE, reason: 'killed' })
    expect(delivered(down)).toEqual(['failed worker_lost'])
    expect(toPrefill(down)).toEqual(['abort running/1'])
    cluster.prefill({ kind: 'released', ...named('running') })
    expect(toDecode(cluster.hello('decode', 4))).toEqual(['reserve waiting/2'])
  })

  it('does not touch what decode has already got', () => {
    const cluster = started()
    arm(cluster, 'r')
    expect(delivered(cluster.step({ kind: 'worker_down', role: 'prefill', epoch: PREFILL, reason: 'killed' }))).toEqual(
      [],
    )
    expect(delivered(cluster.decode(token('r', 0)))).toEqual(['token'])
  })

  it('is heard from both workers, and costs one attempt', () => {
    const { step, decode, prefill, machine } = started()
    step({ kind: 'submit', request: requestFor('r') })
    decode({ kind: 'reserved', ...named('r'), lease })
    decode({ kind: 'failed', ...named('r'), code: 'worker_lost', detail: '' })
    prefill({ kind: 'failed', ...named('r'), code: 'worker_lost', detail: '' })
    expect(machine.load()).toEqual({ waiting: 0, running: 1 })
    const over = decode({ kind: 'failed', ...named('r', 2), code: 'worker_lost', detail: '' })
    expect(delivered(over)).toEqual(['failed worker_lost'])
  })
})
