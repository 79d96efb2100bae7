import { rejectedButAlive } from '../leak/leaky-engine.ts'
import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'

/** What prefill holds; the window that is advertised is decode's, and B's prompt lies between the two. */
const PREFILL_POOL = 96
const WINDOW = 128
/** Tokens of output with which B's contract takes all eight pages. */
const WHOLE_WINDOW = 24

/**
 * F001, the fault of 2026: a prompt too long for prefill's pool is only marked as rejected; one token takes its place and
 * goes through queue, transfer and sampling. Prefill sends one page, decode has reserved eight, and seven of them still hold
 * what was there before.
 */
export const placeholder: Fault = {
  name: 'rejected-placeholder',
  class: 'A1',
  harm: 'leak',
  reports: ['F001', 'F004', 'F005'],
  summary: 'a rejected prompt lives on as one token; one page is sent, eight are read',
  rules: ['R1', 'R2', 'R3', 'R4', 'R5', 'R8'],
  play: async (bench) => {
    const { guards } = bench
    const { toPrefill, forward, wrap } = rejectedButAlive(PREFILL_POOL)
    // B's question comes to stand behind what A's answer ends with for certain: its code, a separator and `code`.
    const cast = bench.cast({ entries: 9, entriesOfA: 8 })
    const rig = await bench.open({
      sizes: { window: WINDOW, prefill: PREFILL_POOL, decode: WINDOW },
      believed: { prefill: WINDOW },
      sabotage: () => ({
        toPrefill,
        ...(!guards.has('R5') && { plan: forward }),
        ...(!guards.has('R1') && { engine: wrap }),
      }),
    })
    await serveA(rig, cast)
    return readByB(rig, cast, await rig.ask(cast.b, { maxTokens: WHOLE_WINDOW }))
  },
}
