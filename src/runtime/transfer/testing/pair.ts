import type { ManifestFrame, PageFrame } from '../../../cluster/index.ts'
import { nodeDigests } from '../../../host/node/index.ts'
import { type LinkEvents, type LinkOptions, LinkProtocol } from '../protocol.ts'

export const SHAPE = { pages: 8, pageSize: 4, layers: 2, kvHeads: 1, headDim: 4 } as const
export const ROW_BYTES = SHAPE.kvHeads * SHAPE.headDim * 2 * 4

const party = { model: 'm', weights: 'ab'.repeat(32), shape: SHAPE } as const

export const optionsOf = (role: 'prefill' | 'decode', change: Partial<LinkOptions> = {}): LinkOptions => ({
  own: { ...party, role, epoch: role === 'prefill' ? 11 : 12 },
  linkKey: new Uint8Array(32).fill(7),
  digests: nodeDigests,
  nonce: new Uint8Array(32).fill(role === 'prefill' ? 1 : 2),
  ...change,
})

/** What a side was told, rows copied. */
export interface Heard {
  readonly events: LinkEvents
  readonly pages: { readonly frame: PageFrame; readonly rows: Buffer }[]
  readonly manifests: ManifestFrame[]
  readonly closed: number[]
  ups: number
  joins: number
}

export const listener = (): Heard => {
  const heard: Heard = {
    pages: [],
    manifests: [],
    closed: [],
    ups: 0,
    joins: 0,
    events: {
      up: () => {
        heard.ups += 1
      },
      joined: () => {
        heard.joins += 1
      },
      page: (frame, rows) => heard.pages.push({ frame, rows: Buffer.from(rows) }),
      manifest: (frame) => heard.manifests.push(frame),
      leaseClosed: (message) => heard.closed.push(message.lease.id),
    },
  }
  return heard
}

/** One side with what it wrote and heard; `instead` hears in its place. */
export const side = (options: LinkOptions, instead: Partial<LinkEvents> = {}) => {
  const heard = listener()
  const wrote: Buffer[] = []
  const protocol = new LinkProtocol(options, { ...heard.events, ...instead }, (bytes) => {
    wrote.push(Buffer.from(bytes))
    return true
  })
  return { protocol, heard, take: (): Buffer => Buffer.concat(wrote.splice(0)) }
}

/** Two sides with the handshake done; `instead` hears in decode's place. */
export const joined = (
  prefill = optionsOf('prefill'),
  decode = optionsOf('decode'),
  instead: Partial<LinkEvents> = {},
) => {
  const from = side(prefill)
  const to = side(decode, instead)
  from.protocol.start()
  to.protocol.receive(from.take())
  from.protocol.receive(to.take())
  to.protocol.receive(from.take())
  from.protocol.receive(to.take())
  to.protocol.receive(from.take())
  return { from, to }
}

export const page = (ordinal: number, change: Partial<PageFrame> = {}): PageFrame => ({
  kind: 'page',
  requestId: 'req_é1',
  attempt: 1,
  lease: { id: 3, epoch: 2 ** 40 + 5 },
  layer: ordinal % 2,
  ordinal,
  rows: 4,
  seal: new Uint8Array(16).fill(ordinal),
  ...change,
})

export const manifest = (change: Partial<ManifestFrame> = {}): ManifestFrame => ({
  kind: 'manifest',
  requestId: 'req_é1',
  attempt: 1,
  lease: { id: 3, epoch: 2 ** 40 + 5 },
  pages: 2,
  rows: 8,
  layers: 2,
  tokenDigest: 'cd'.repeat(32),
  ...change,
})

export const rowsOf = (rows: number, fill: number): Buffer => Buffer.alloc(rows * ROW_BYTES, fill)
