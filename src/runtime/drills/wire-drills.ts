import type { DigestTools, Random } from '../../host/index.ts'
import { type LinkParty, LinkProtocol } from '../transfer/index.ts'
import { type DrillFinding, drillCase, findingOf } from './detectors.ts'

export interface WireDrillOptions {
  /** Either end; the drill makes the other one up. */
  readonly own: LinkParty
  readonly linkKey: Uint8Array
  readonly digests: DigestTools
  readonly random: Random
}

const MANIFEST = { kind: 'manifest', requestId: 'drill', attempt: 1, lease: { id: 1, epoch: 1 } } as const
const TOTALS = { pages: 2, rows: 17, layers: 1, tokenDigest: 'drill' }

/** R10 on the wire: two ends join in memory under the real link key, and one hears frames that were changed or repeated. */
export const drillWire = (options: WireDrillOptions): DrillFinding => {
  const heardAfter = (change: (frame: Buffer) => Buffer): string => {
    const { send, receive } = joinedPair(options)
    return receive(change(send()))
  }
  return findingOf('frame_mac', [
    drillCase('a frame as it was sent', 'delivered', () => heardAfter((frame) => frame)),
    drillCase('one bit of a header is turned', 'bad_tag', () => heardAfter(turnLastBit)),
    drillCase('a frame comes twice', 'out_of_order', () => heardAfter((frame) => Buffer.concat([frame, frame]))),
  ])
}

const turnLastBit = (frame: Buffer): Buffer => {
  const changed = Buffer.from(frame)
  changed[changed.length - 1]! ^= 1
  return changed
}

const joinedPair = ({
  own,
  linkKey,
  digests,
  random,
}: WireDrillOptions): { readonly send: () => Buffer; readonly receive: (bytes: Buffer) => string } => {
  const toPrefill: Uint8Array[] = []
  const toDecode: Uint8Array[] = []
  let manifests = 0
  const end = (role: LinkParty['role'], out: Uint8Array[]): LinkProtocol =>
    new LinkProtocol(
      { own: { ...own, role }, linkKey, digests, nonce: random.bytes(32) },
      {
        up: () => undefined,
        joined: () => undefined,
        page: () => undefined,
        manifest: () => {
          manifests += 1
        },
        leaseClosed: () => undefined,
      },
      (bytes) => {
        out.push(bytes)
        return true
      },
    )
  const prefill = end('prefill', toDecode)
  const decode = end('decode', toPrefill)
  const take = (queue: Uint8Array[]): Buffer => Buffer.concat(queue.splice(0))
  prefill.start()
  while (toDecode.length + toPrefill.length > 0) {
    decode.receive(take(toDecode))
    prefill.receive(take(toPrefill))
  }
  if (!prefill.up || !decode.up) throw new Error('the two ends did not join')
  return {
    send: () => {
      prefill.sendManifest({ ...MANIFEST, ...TOTALS })
      return take(toDecode)
    },
    receive: (bytes) => decode.receive(bytes) ?? (manifests === 1 ? 'delivered' : 'nothing'),
  }
}
