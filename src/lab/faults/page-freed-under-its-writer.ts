import type { PlaceEffect } from '../../cluster/index.ts'
import type { PoolKernels } from '../../kernels/index.ts'
import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapChannel, tapDecode } from './seams.ts'

const LATE = [2, 3, 4]

/**
 * F033: a request is aborted while a transfer still writes its pages. They are given to the next request at once, its own
 * pages arrive, and then the late write lands on top of them.
 */
export const lateWriter: Fault = {
  name: 'page-freed-under-its-writer',
  class: 'B1',
  harm: 'leak',
  reports: ['F033'],
  summary: 'pages of an aborted request are handed on while a transfer still writes them',
  rules: ['R6'],
  bookkeeping: ['R7'],
  play: async (bench) => {
    const cast = bench.cast()
    const late: { readonly effect: PlaceEffect; readonly rows: Uint8Array }[] = []
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        const bytes = new Map<object, Uint8Array>()
        let pool: PoolKernels | null = null
        return {
          kernels: (role, user, kernels) => {
            if (role === 'decode' && user === 'worker') pool = kernels
            return kernels
          },
          channel: tapChannel({
            page: (frame, rows, deliver) => {
              bytes.set(frame, rows)
              deliver(frame, rows)
            },
          }),
          decode: tapDecode((machine, event) => {
            if (event.kind === 'page_frame' && tenantOf(event.frame.requestId) === 'A') {
              if (!LATE.includes(event.frame.ordinal)) return machine.step(event)
              return machine.step(event).filter((effect) => {
                if (effect.kind !== 'place') return true
                late.push({ effect, rows: bytes.get(event.frame)! })
                return false
              })
            }
            if (event.kind !== 'manifest' || tenantOf(event.frame.requestId) !== 'B') return machine.step(event)
            const landed = late.splice(0).flatMap(({ effect, rows }) => {
              pool!.writeRows(effect.page, effect.layer, effect.rows, rows)
              return machine.step({ kind: 'placed', id: effect.id, outcome: 'ok', now: event.now })
            })
            return [...landed, ...machine.step(event)]
          }),
        }
      },
    })
    const first = rig.begin(cast.a, { maxTokens: 24 })
    await rig.until(() => late.length === LATE.length * 2)
    first.abort()
    await first.reply
    return readByB(rig, cast, await rig.ask(cast.b))
  },
}
