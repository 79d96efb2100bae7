import type { ManifestFrame, PageFrame } from '../../../cluster/index.ts'
import type { LinkProtocol } from '../protocol.ts'
import type { Delivery } from './decode-end.ts'
import { ROW_BYTES } from './pair.ts'

export type Draw = (below: number) => number

/** What somebody does to frames on their way, without the keys. */
export const strikes = ['corrupt', 'short', 'long', 'reordered', 'replayed', 'skipped', 'noise', 'forged'] as const
/** What somebody sends who holds every key. */
export const lies = [
  'foreign_lease',
  'wrong_identity',
  'duplicate',
  'foreign_rows',
  'wrong_seal',
  'fewer_rows',
  'out_of_bounds',
  'wrong_length',
  'wrong_kind',
  'false_manifest',
] as const
export type Strike = (typeof strikes)[number]
export type Lie = (typeof lies)[number]

/** A frame as the protocol is to tell it, or null for one that it must not tell. */
export type Said = PageFrame | ManifestFrame | null

const noiseOf = (draw: Draw, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; at += 1) bytes[at] = draw(256)
  return bytes
}

/**
 * Changes the frames from number `at` on; those before it stay as they were sent. `earlier` are frames of sessions that are over.
 */
export const strike = (kind: Strike, frames: Buffer[], at: number, draw: Draw, earlier: readonly Buffer[]): void => {
  const frame = frames[at]!
  switch (kind) {
    case 'corrupt': {
      const changed = Buffer.from(frame)
      for (let times = draw(4); times >= 0; times -= 1) changed[draw(changed.length)]! ^= 1 << draw(8)
      // A bit turned twice is as it was.
      if (changed.equals(frame)) changed[0]! ^= 1
      frames[at] = changed
      return
    }
    case 'short': {
      const from = draw(frame.length)
      const gone = 1 + draw(Math.min(40, frame.length - from))
      frames[at] = Buffer.concat([frame.subarray(0, from), frame.subarray(from + gone)])
      return
    }
    case 'long': {
      const from = draw(frame.length + 1)
      frames[at] = Buffer.concat([frame.subarray(0, from), noiseOf(draw, 1 + draw(40)), frame.subarray(from)])
      return
    }
    case 'reordered': {
      const other = at + 1 + draw(frames.length - at - 1)
      frames[at] = frames[other]!
      frames[other] = frame
      return
    }
    case 'replayed': {
      const own = at > 0 && draw(2) === 0
      frames.splice(at, 0, own ? frames[draw(at)]! : earlier[draw(earlier.length)]!)
      return
    }
    case 'skipped':
      frames.splice(at, 1)
      return
    case 'noise':
      frames.splice(at, 0, noiseOf(draw, 1 + draw(120)))
      return
    case 'forged': {
      // Right in everything but the tag, which cannot be made without the key.
      const made = Buffer.from(frame)
      made.set(noiseOf(draw, 16), 16)
      frames[at] = made
      return
    }
  }
}

/** Sends one lie through the sender's protocol, which tags and numbers it as its own. Returns what is to be told of it. */
export const tell = (
  kind: Lie,
  sender: LinkProtocol,
  delivery: Delivery,
  victim: Delivery,
  sent: number,
  draw: Draw,
): Said => {
  const { frame, rows } = delivery.pages[draw(delivery.pages.length)]!
  const page = (change: Partial<PageFrame>, bytes: Uint8Array = rows): PageFrame => {
    const lie = { ...frame, ...change }
    sender.sendPage(lie, bytes)
    return lie
  }
  switch (kind) {
    case 'foreign_lease': {
      const { id, epoch } = delivery.lease
      const leases = [
        victim.lease,
        { id: id + 1 + draw(9), epoch },
        { id, epoch: epoch + 1 },
        { id: draw(2 ** 31), epoch },
      ]
      return page({ lease: leases[draw(leases.length)]! })
    }
    case 'wrong_identity':
      return page(draw(2) === 0 ? { requestId: draw(2) === 0 ? 'victim' : '' } : { attempt: 2 + draw(9) })
    case 'duplicate': {
      if (sent === 0) return page({ attempt: 2 })
      const again = delivery.pages[draw(Math.min(sent, delivery.pages.length))]!
      sender.sendPage(again.frame, again.rows)
      return again.frame
    }
    case 'foreign_rows': {
      const others = victim.pages.find((one) => one.frame.ordinal === frame.ordinal && one.frame.layer === frame.layer)!
      return page(draw(2) === 0 ? { seal: others.frame.seal } : {}, others.rows)
    }
    case 'wrong_seal':
      return page({ seal: noiseOf(draw, 16) })
    case 'fewer_rows':
      return page({ rows: frame.rows - 1 }, rows.subarray(0, (frame.rows - 1) * ROW_BYTES))
    case 'out_of_bounds':
      return page(draw(2) === 0 ? { ordinal: 4 + draw(2 ** 31) } : { layer: 2 + draw(2 ** 31) })
    case 'wrong_length':
      page({ rows: draw(2) === 0 ? 0 : frame.rows + 1 + draw(9) })
      return null
    case 'wrong_kind':
      sender.sendLeaseClosed({ kind: 'lease_closed', lease: delivery.lease })
      return null
    case 'false_manifest': {
      const changes = [
        { pages: draw(9) },
        { rows: draw(99) },
        { layers: draw(9) },
        { tokenDigest: 'ee'.repeat(32) },
        {},
      ]
      const lie = { ...delivery.manifest, ...changes[draw(changes.length)]! }
      sender.sendManifest(lie)
      return lie
    }
  }
}
