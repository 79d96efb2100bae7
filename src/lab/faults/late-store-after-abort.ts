import type { PrefillEffect, SendPageEffect } from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'
import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapDecode, tapPrefill } from './seams.ts'

const LATE = [2, 3, 4]

/**
 * F033 where writes are one-sided: a store has begun when its request is aborted, and nothing on decode's side can stop it. Its
 * bytes were read and are on their way, on a queue of their own, when its pages are given to the next request; they land when
 * that one has been verified whole. The lease and the tags were right when the store began: only waiting for the writer helps.
 */
export const lateStore: Fault = {
  name: 'late-store-after-abort',
  class: 'B1',
  harm: 'leak',
  reports: ['F033'],
  summary: 'a one-sided store lands after the abort, in a page that is another request\u2019s by then',
  rules: ['R6'],
  bookkeeping: ['R7'],
  play: async (bench) => {
    const cast = bench.cast()
    const flying: { readonly effect: SendPageEffect; readonly rows: Uint8Array }[] = []
    const rig = await bench.open({
      transport: 'shared',
      sabotage: ({ tenantOf }) => {
        const pools: Partial<Record<'prefill' | 'decode', PoolKernels>> = {}
        /** What prefill would say under A's lease, which waits for the stores before it. */
        const behind: PrefillEffect[] = []
        let landed = false
        const isLastWordOfA = (effect: PrefillEffect): boolean =>
          effect.kind === 'send_acknowledge' ||
          (effect.kind === 'send_manifest' && tenantOf(effect.frame.requestId) === 'A')
        return {
          kernels: (role, user, kernels) => {
            if (user === 'worker') pools[role] = kernels
            return kernels
          },
          prefill: tapPrefill((machine, event) => {
            const late = landed ? flying.splice(0) : []
            const ended = late.flatMap(({ effect }) =>
              machine.step({ kind: 'page_sent', id: effect.id, now: event.now }),
            )
            const effects = [...ended, ...(landed ? behind.splice(0) : []), ...machine.step(event)]
            return effects.filter((effect) => {
              if (flying.length > 0 && isLastWordOfA(effect)) {
                behind.push(effect)
                return false
              }
              if (effect.kind !== 'send_page' || !LATE.includes(effect.frame.ordinal)) return true
              if (tenantOf(effect.frame.requestId) !== 'A') return true
              const { layer, rows: count } = effect.frame
              const rows = new Uint8Array(pools.prefill!.rowBytes(count))
              pools.prefill!.readRows(effect.page, layer, count, rows)
              flying.push({ effect, rows })
              return false
            })
          }),
          decode: tapDecode((machine, event) => {
            if (event.kind !== 'manifest' || tenantOf(event.frame.requestId) !== 'B') return machine.step(event)
            for (const { effect, rows } of flying)
              pools.decode!.writeRows(effect.target!.page, effect.frame.layer, effect.frame.rows, rows)
            landed = true
            return machine.step(event)
          }),
        }
      },
    })
    const first = rig.begin(cast.a, { maxTokens: 24 })
    await rig.until(() => flying.length === LATE.length * 2)
    first.abort()
    await first.reply
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
