import type { Fault } from './fault.ts'
import { answeredShort } from './play.ts'
import { tapChannel, tapDecode } from './seams.ts'

/** Pages of decode in truth; router and gateway think it has sixteen. */
const DECODE_POOL = 64
const PAGES_KEPT = 3

/**
 * F007, F013, decode's side: its pool is smaller than prefill's and than what is advertised. It reserves what fits, takes in
 * the pages that it has room for, and answers to the beginning of the prompt.
 */
export const shortDecodePool: Fault = {
  name: 'decode-pool-short',
  class: 'A2',
  harm: 'truncation',
  reports: ['F007', 'F013'],
  summary: 'decode has fewer pages than prefill and answers to as much of the prompt as fits',
  rules: ['R2', 'R3', 'R4'],
  play: async (bench) => {
    const cast = bench.cast({ at: 6 })
    const pretended = 256 / 16
    const rig = await bench.open({
      sizes: { decode: DECODE_POOL },
      believed: { decode: 256 },
      sabotage: () => ({
        toDecode: (message) =>
          message.kind === 'reserve' ? { ...message, ids: message.ids.subarray(0, PAGES_KEPT * 16) } : message,
        decode: tapDecode((machine, event) =>
          machine
            .step(event)
            .map((effect) =>
              effect.kind === 'send' && effect.message.kind === 'hello'
                ? { ...effect, message: { ...effect.message, shape: { ...effect.message.shape, pages: pretended } } }
                : effect,
            ),
        ),
        channel: tapChannel({
          page: (frame, rows, deliver) => {
            if (frame.ordinal < PAGES_KEPT) deliver(frame, rows)
          },
        }),
      }),
    })
    return answeredShort(rig, cast, await rig.ask(cast.b))
  },
}
