import type { ManifestFrame, PageFrame } from '../../../cluster/index.ts'
import type { LinkViolation } from '../protocol.ts'
import { DecodeEnd } from './decode-end.ts'
import { type Draw, type Lie, lies, type Said, type Strike, strike, strikes, tell } from './hostility.ts'
import { joined, optionsOf } from './pair.ts'
import { createRandom } from './random.ts'

export interface FuzzReport {
  /** Frames that were hostile and came to be judged, by kind. */
  readonly hostile: ReadonlyMap<Strike | Lie, number>
  readonly total: number
  readonly sessions: number
  /** Honest pages that were placed meanwhile. */
  readonly placed: number
  /** Why sessions ended; `none`: what was changed was a page's rows, or a frame that never became whole. */
  readonly violations: ReadonlyMap<LinkViolation | 'none', number>
  /** Why the machine did not take what the protocol let through. */
  readonly refusals: ReadonlyMap<string, number>
  /** What went wrong, with the session that shows it; empty is the only good answer. */
  readonly failures: readonly string[]
}

/** Frames of earlier sessions that are kept for replay. */
const KEPT = 64

/**
 * Session after session of a prefill with the right keys, whose frames go through the real protocol to a real decode worker with
 * a real pool. Among what is honest stand lies of a peer that holds the keys; and on the way somebody without them strikes once:
 * bits are turned, bytes cut out or put in, frames swapped, repeated, left out, forged, or noise is put between; then all is cut
 * into chunks at random. What the protocol tells must be what was sent, in its order; what decode places must be what was
 * honestly sent for that very page (see `DecodeEnd`). Nothing may throw.
 */
export const fuzzTransfer = (options: { readonly frames: number; readonly seed: number }): FuzzReport => {
  const hostile = new Map<Strike | Lie, number>([...strikes, ...lies].map((kind) => [kind, 0]))
  const violations = new Map<LinkViolation | 'none', number>()
  const refusals = new Map<string, number>()
  const decode = new DecodeEnd()
  const failures = decode.failures
  const earlier: Buffer[] = []
  let [total, sessions] = [0, 0]
  for (; total < options.frames && failures.length < 10; sessions += 1) {
    const draw = createRandom(options.seed + sessions)
    try {
      const outcome = runSession(decode, `${options.seed + sessions}`, draw, earlier)
      for (const kind of outcome.judged) hostile.set(kind, hostile.get(kind)! + 1)
      total += outcome.judged.length
      count(violations, outcome.violation ?? 'none')
      for (const reason of decode.refusals) count(refusals, reason)
    } catch (error) {
      failures.push(`${options.seed + sessions}: threw ${(error as Error).stack}`)
    }
  }
  if (!decode.victimGoesOn()) failures.push('the victim does not go on')
  return { hostile, total, sessions, placed: decode.placed, violations, refusals, failures }
}

const count = <K>(map: Map<K, number>, key: K): void => {
  map.set(key, (map.get(key) ?? 0) + 1)
}

interface Outcome {
  readonly violation: LinkViolation | null
  readonly judged: readonly (Strike | Lie)[]
}

const runSession = (decode: DecodeEnd, name: string, draw: Draw, earlier: Buffer[]): Outcome => {
  const nonce = (salt: number): Uint8Array =>
    new Uint8Array(32).map((_, at) => name.charCodeAt(at % name.length) + salt)
  const script: { readonly said: Said; readonly lie: Lie | null }[] = []
  let told = 0
  const next = (frame: PageFrame | ManifestFrame): void => {
    const { said } = script[told] ?? { said: null }
    if (said === null || !sameFrame(said, frame)) decode.failures.push(`${name}: frame ${told} is not the one sent`)
    told += 1
  }
  const { from, to } = joined(optionsOf('prefill', { nonce: nonce(1) }), optionsOf('decode', { nonce: nonce(2) }), {
    page: (frame, rows) => {
      next(frame)
      decode.events.page!(frame, rows)
    },
    manifest: (frame) => {
      next(frame)
      decode.events.manifest!(frame)
    },
  })
  const delivery = decode.begin(name, 'own', () => to.protocol.stop())
  const kind = draw(12) === 0 || earlier.length === 0 ? null : strikes[draw(strikes.length)]!
  // Behind a strike little is taken any more.
  const last = kind === null ? delivery.pages.length : 2 + draw(delivery.pages.length - 1)
  const frames: Buffer[] = []
  const lie = (sent: number): void => {
    // Most lies end nothing; of those that do there are fewer, or little would come after them.
    const kind = lies[draw(5) === 0 ? draw(lies.length) : draw(3)]!
    script.push({ said: tell(kind, from.protocol, delivery, decode.victim, sent, draw), lie: kind })
    frames.push(from.take())
  }
  delivery.pages.slice(0, last).forEach(({ frame, rows }, sent) => {
    while (draw(4) === 0) lie(sent)
    from.protocol.sendPage(frame, rows)
    script.push({ said: frame, lie: null })
    frames.push(from.take())
  })
  if (last === delivery.pages.length) {
    while (draw(3) === 0) lie(last)
    from.protocol.sendManifest(delivery.manifest)
    script.push({ said: delivery.manifest, lie: null })
    frames.push(from.take())
  }
  const kept = frames[draw(frames.length)]!
  const at = draw(frames.length - 1)
  if (kind !== null) strike(kind, frames, at, draw, earlier)
  if (earlier.length < KEPT) earlier.push(kept)
  else earlier[draw(KEPT)] = kept
  const violation = feed(Buffer.concat(frames), to.protocol, draw)
  // The frame after the last one told is the one that ended the session, if something did.
  const reached = told + (told < script.length ? 1 : 0)
  const judged: (Strike | Lie)[] = script.slice(0, reached).flatMap((one) => one.lie ?? [])
  if (kind !== null && at < reached) judged.push(kind)
  decode.end()
  return { violation, judged }
}

const sameFrame = (sent: PageFrame | ManifestFrame, heard: PageFrame | ManifestFrame): boolean => {
  if (sent.requestId !== heard.requestId || sent.attempt !== heard.attempt) return false
  if (sent.lease.id !== heard.lease.id || sent.lease.epoch !== heard.lease.epoch || sent.rows !== heard.rows)
    return false
  if (sent.kind === 'page' && heard.kind === 'page') {
    return sent.layer === heard.layer && sent.ordinal === heard.ordinal && Buffer.compare(sent.seal, heard.seal) === 0
  }
  if (sent.kind !== 'manifest' || heard.kind !== 'manifest') return false
  return sent.pages === heard.pages && sent.layers === heard.layers && sent.tokenDigest === heard.tokenDigest
}

const feed = (
  stream: Buffer,
  protocol: { receive(chunk: Buffer): LinkViolation | null },
  draw: Draw,
): LinkViolation | null => {
  let violation: LinkViolation | null = null
  const longest = draw(4) === 0 ? 8 : 700
  for (let at = 0; at < stream.length; ) {
    const size = 1 + draw(longest)
    violation = protocol.receive(stream.subarray(at, at + size))
    at += size
    // A connection that violates is over; one chunk more shows that it stays so.
    if (violation !== null) return protocol.receive(stream.subarray(at, at + size))
  }
  return violation
}
