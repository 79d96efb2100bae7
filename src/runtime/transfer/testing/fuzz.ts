import type { LinkViolation } from '../protocol.ts'
import { joined, manifest, page, ROW_BYTES, rowsOf } from './pair.ts'

/** mulberry32 (T. Ettinger, public domain): a seed names a run. */
export const createRandom = (seed: number): ((below: number) => number) => {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

export interface FuzzReport {
  readonly frames: number
  readonly delivered: number
  readonly violations: ReadonlyMap<LinkViolation | 'none', number>
  /** What went wrong, with the seed that shows it; empty is the only good answer. */
  readonly failures: readonly string[]
}

const FRAMES = 6

/**
 * Feeds a decode side, hand-shaken as it should be, with streams of six frames that were changed in one to three places
 * (bits flipped, bytes cut out or put in, frames dropped, repeated, swapped, or noise) and cut into chunks at random.
 * Whatever was delivered must be a prefix of what was sent, header for header; only a page's rows may differ, which its
 * seal is there to find. Nothing may throw.
 */
export const fuzzTransfer = (options: { readonly frames: number; readonly seed: number }): FuzzReport => {
  const violations = new Map<LinkViolation | 'none', number>()
  const failures: string[] = []
  let delivered = 0
  let fed = 0
  for (let run = 0; fed < options.frames; run += 1) {
    const random = createRandom(options.seed + run)
    const { from, to } = joined()
    const sent = Array.from({ length: FRAMES }, (_, at) => {
      const last = at === FRAMES - 1
      if (last) from.protocol.sendManifest(manifest())
      else from.protocol.sendPage(page(at, { rows: 1 + (at % 4) }), rowsOf(1 + (at % 4), at + 1))
      return from.take()
    })
    fed += FRAMES
    try {
      const violation = feed(mutate(sent, random), to.protocol, random)
      violations.set(violation ?? 'none', (violations.get(violation ?? 'none') ?? 0) + 1)
    } catch (error) {
      failures.push(`seed ${options.seed + run}: threw ${(error as Error).message}`)
    }
    to.heard.pages.forEach(({ frame, rows }, at) => {
      const expected = page(at, { rows: 1 + (at % 4) })
      const same =
        JSON.stringify({ ...frame, seal: [...frame.seal] }) ===
        JSON.stringify({ ...expected, seal: [...expected.seal] })
      if (!same || rows.length !== frame.rows * ROW_BYTES)
        failures.push(`seed ${options.seed + run}: page ${at} is not the one sent`)
    })
    const manifests = to.heard.manifests.length
    if (manifests > 1 || (manifests === 1 && to.heard.pages.length !== FRAMES - 1)) {
      failures.push(`seed ${options.seed + run}: a manifest came out of turn`)
    }
    delivered += to.heard.pages.length + manifests
  }
  return { frames: fed, delivered, violations, failures }
}

const feed = (
  stream: Buffer,
  protocol: { receive(chunk: Buffer): LinkViolation | null },
  random: (below: number) => number,
): LinkViolation | null => {
  let violation: LinkViolation | null = null
  for (let at = 0; at < stream.length; ) {
    const size = 1 + random(random(4) === 0 ? 8 : 700)
    violation = protocol.receive(Buffer.from(stream.subarray(at, at + size)))
    at += size
  }
  return violation
}

const mutate = (frames: readonly Buffer[], random: (below: number) => number): Buffer => {
  const parts = [...frames]
  if (random(3) === 0) rearrange(parts, random)
  let stream: Buffer = Buffer.concat(parts)
  for (let times = random(3); times >= 0; times -= 1) stream = change(stream, random)
  return stream
}

const rearrange = (parts: Buffer[], random: (below: number) => number): void => {
  const a = random(parts.length)
  const b = random(parts.length)
  const kept = parts[a]!
  if (random(3) === 0) parts.splice(a, 1)
  else if (random(2) === 0) parts.splice(b, 0, kept)
  else {
    parts[a] = parts[b]!
    parts[b] = kept
  }
}

const change = (stream: Buffer, random: (below: number) => number): Buffer => {
  const at = random(stream.length + 1)
  const noise = Buffer.from(Array.from({ length: 1 + random(40) }, () => random(256)))
  switch (random(6)) {
    case 0:
      return stream.subarray(0, at)
    case 1:
      return Buffer.concat([stream.subarray(0, at), noise, stream.subarray(at)])
    case 2:
      return Buffer.concat([stream.subarray(0, at), stream.subarray(at + noise.length)])
    case 3: {
      const copy = Buffer.from(stream)
      copy.set(noise.subarray(0, Math.max(0, copy.length - at)), at)
      return copy
    }
    case 4:
      return random(8) === 0 ? noise : stream
    default: {
      const copy = Buffer.from(stream)
      if (at < copy.length) copy[at] = copy[at]! ^ (1 << random(8))
      return copy
    }
  }
}
