import type { AttentionSequence } from '../../kernels/index.ts'
import type { Fault } from './fault.ts'
import { readByB } from './play.ts'
import { tapChannel } from './seams.ts'

/** Where padding goes: the pool's first page, which nobody set aside for it. */
const PADDING_PAGE = 0

/**
 * F058, F061: batches are filled up to an even number with a copy of the last row, and the copy is stored like any other, in
 * the page that a table of zeros names. That page is B's.
 */
export const paddingRow: Fault = {
  name: 'padding-row-writes-a-real-slot',
  class: 'C',
  harm: 'leak',
  reports: ['F058', 'F061'],
  summary: 'the row that fills up a batch is stored in page 0, which belongs to somebody',
  rules: ['R5'],
  play: async (bench) => {
    // Lengths for which A's code comes to stand where B's code was, and B's own padding after it.
    const cast = bench.cast({ entriesOfA: 16, entries: 11, at: 0 })
    let othersDone: () => void = () => undefined
    const rig = await bench.open({
      sizes: { window: 256, prefill: 512, decode: 512 },
      sabotage: ({ tenantOf, fired }) => ({
        channel: tapChannel({
          manifest: (frame, deliver) => {
            if (tenantOf(frame.requestId) === 'B') othersDone = () => deliver(frame)
            else deliver(frame)
          },
        }),
        kernels: (role, user, kernels) =>
          role === 'prefill' || user === 'worker'
            ? kernels
            : {
                ...kernels,
                attention: (layer, sequences, qkv, out) => {
                  if (sequences.length % 2 === 0) return kernels.attention(layer, sequences, qkv, out)
                  const padded = withLastTwice(qkv, sequences.length)
                  const room = new Float32Array((out.length / sequences.length) * (sequences.length + 1))
                  const last = sequences.at(-1)!
                  const faults = kernels.attention(layer, [...sequences, paddingOf(last)], padded, room)
                  out.set(room.subarray(0, out.length))
                  const real = faults.filter(({ sequence }) => sequence < sequences.length)
                  if (real.length < faults.length) fired('R5')
                  return real
                },
              },
      }),
    })
    const reply = rig.ask(cast.b)
    await rig.ask(cast.a, { maxTokens: 9 })
    othersDone()
    return readByB(rig, cast, await reply)
  },
}

const paddingOf = ({ start }: AttentionSequence): AttentionSequence => ({
  table: {
    pages: Uint32Array.of(PADDING_PAGE),
    owners: Uint32Array.of(0),
    generations: Uint32Array.of(0),
  },
  start: start % 16,
  rows: 1,
  write: 'append',
})

function withLastTwice(rows: Float32Array, count: number): Float32Array {
  const width = rows.length / count
  const more = new Float32Array(rows.length + width)
  more.set(rows)
  more.set(rows.subarray(rows.length - width), rows.length)
  return more
}
