import { type Strike, strike, strikes } from './hostility.ts'
import { joined, optionsOf } from './pair.ts'
import { createRandom } from './random.ts'

const ANSWERS = 8

/** What decode says to prefill, struck in the same ways: prefill is to hear a beginning of what was said, and nothing else. */
export const fuzzAnswers = (options: { readonly sessions: number; readonly seed: number }) => {
  const struck = new Map<Strike, number>()
  const failures: string[] = []
  const earlier: Buffer[] = []
  let heard = 0
  for (let session = 0; session < options.sessions; session += 1) {
    const draw = createRandom(options.seed + session)
    const nonce = new Uint8Array(32).fill(session & 255).fill(session >> 8, 16)
    const { from, to } = joined(optionsOf('prefill', { nonce }), optionsOf('decode', { nonce }))
    const said = Array.from({ length: ANSWERS }, () => draw(2 ** 32))
    const frames = said.map((id) => {
      to.protocol.sendLeaseClosed({ kind: 'lease_closed', lease: { id, epoch: session } })
      return to.take()
    })
    const kept = frames[draw(ANSWERS)]!
    const kind = strikes[draw(strikes.length)]!
    if (earlier.length > 0) {
      const at = draw(ANSWERS - 1)
      strike(kind, frames, at, draw, earlier)
      struck.set(kind, (struck.get(kind) ?? 0) + 1)
      from.protocol.receive(Buffer.concat(frames))
      // What was put in may stand behind the frame, which is then whole.
      const whole = at + (kind === 'long' ? 1 : 0)
      if (from.heard.closed.length > whole) failures.push(`${options.seed + session}: ${kind} was heard`)
    }
    if (earlier.length < 32) earlier.push(kept)
    else earlier[draw(32)] = kept
    if (from.heard.closed.some((id, i) => id !== said[i])) failures.push(`${options.seed + session}: not what was said`)
    heard += from.heard.closed.length
  }
  return { struck, failures, heard }
}
