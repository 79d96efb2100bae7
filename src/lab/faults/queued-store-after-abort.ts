import type { PrefillEffect } from '../../cluster/index.ts'
import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapPrefill } from './seams.ts'

const LATE = [2, 3, 4]
const ANSWER = 24
/** Of prefill's 16 pages, once the second prompt is through: all but those that the late stores read. */
const FREE_THEN = 13

/**
 * F033, the tamer kind: a one-sided store waits in a queue while its request is aborted and its pages are given to the next. When
 * its turn comes it begins as if nothing had happened. Here a look at the page's tag helps as well as waiting for the writer.
 */
export const queuedStore: Fault = {
  name: 'queued-store-after-abort',
  class: 'B1',
  harm: 'leak',
  reports: ['F033'],
  summary: 'a one-sided store begins after the abort, in a page that is another request\u2019s by then',
  rules: ['R5', 'R6'],
  bookkeeping: ['R7'],
  play: async (bench) => {
    const cast = bench.cast()
    const queue: PrefillEffect[] = []
    const rig = await bench.open({
      transport: 'shared',
      sabotage: ({ tenantOf }) => {
        let late: string | null = null
        /** Stores of A's first request, and behind them the last word under its lease, which keeps its place. */
        const waits = (effect: PrefillEffect): boolean => {
          if (effect.kind === 'send_acknowledge') return queue.length > 0
          if (effect.kind !== 'send_page' && effect.kind !== 'send_manifest') return false
          late ??= effect.frame.requestId
          if (effect.frame.requestId !== late) return false
          return effect.kind === 'send_manifest' || LATE.includes(effect.frame.ordinal)
        }
        return {
          prefill: tapPrefill((machine, event) =>
            machine.step(event).flatMap((effect) => {
              if (waits(effect)) {
                queue.push(effect)
                return []
              }
              const ofB = effect.kind === 'send_manifest' && tenantOf(effect.frame.requestId) === 'B'
              return ofB ? [...queue.splice(0), effect] : [effect]
            }),
          ),
        }
      },
    })
    const stores = (): number => queue.filter(({ kind }) => kind === 'send_page').length
    // A asks twice: while the second answer runs, B gets the decode pages of the first and the prefill pages of the second,
    // so that what the late stores read is still A's.
    const first = rig.begin(cast.a, { maxTokens: ANSWER })
    const second = rig.begin(cast.a, { maxTokens: ANSWER })
    await rig.until(() => stores() === LATE.length * 2)
    first.abort()
    await first.reply
    await rig.until(() => rig.pool('prefill').free >= FREE_THEN)
    const reply = await rig.ask(cast.b)
    await second.reply
    return readByB(rig, cast, reply)
  },
}
