import type { DigestTools } from '../../host/index.ts'
import type { PoolShape } from '../../kv/index.ts'
import { HeaderReader, HeaderWriter } from './bytes.ts'
import { HEADER_LIMIT } from './frame.ts'
import type { SessionKeys } from './session.ts'

/** Changes when the order of a page's bytes does: K rows of all heads, then V rows, little-endian f32. */
export const PAGE_LAYOUT = 1
export const NONCE_BYTES = 32
const PROOF_BYTES = 32

/** One end of a link, as it names itself. */
export interface LinkParty {
  readonly role: 'prefill' | 'decode'
  readonly model: string
  readonly weights: string
  readonly epoch: number
  readonly shape: PoolShape
}

export interface LinkHello extends LinkParty {
  readonly nonce: Uint8Array
}

export type LinkMismatch = 'wrong_role' | 'wrong_layout' | 'wrong_model' | 'wrong_weights' | 'wrong_shape'

export const helloHeader = (party: LinkParty, nonce: Uint8Array): Buffer =>
  new HeaderWriter(HEADER_LIMIT)
    .u32(PAGE_LAYOUT)
    .text(party.role)
    .text(party.model)
    .text(party.weights)
    .u64(party.epoch)
    .u32(party.shape.pageSize)
    .u32(party.shape.layers)
    .u32(party.shape.kvHeads)
    .u32(party.shape.headDim)
    .u32(party.shape.pages)
    .bytes(nonce)
    .done()

/** Reads a hello, or says in which way it cannot be a partner of `own`. Pools may differ in size, pages may not. */
export const readHello = (header: Uint8Array, own: LinkParty): LinkHello | LinkMismatch | null => {
  const reader = new HeaderReader(header)
  const layout = reader.u32()
  const role = reader.text(16)
  const model = reader.text(256)
  const weights = reader.text(256)
  const epoch = reader.u64()
  const shape = {
    pageSize: reader.u32(),
    layers: reader.u32(),
    kvHeads: reader.u32(),
    headDim: reader.u32(),
    pages: reader.u32(),
  }
  const nonce = reader.bytes(NONCE_BYTES)
  if (!reader.ok) return null
  if (layout !== PAGE_LAYOUT) return 'wrong_layout'
  if (role !== (own.role === 'prefill' ? 'decode' : 'prefill')) return 'wrong_role'
  if (model !== own.model) return 'wrong_model'
  if (weights !== own.weights) return 'wrong_weights'
  const same = (['pageSize', 'layers', 'kvHeads', 'headDim'] as const).every((key) => shape[key] === own.shape[key])
  if (!same) return 'wrong_shape'
  return { role, model, weights, epoch, shape, nonce }
}

/**
 * Proof of the link key by one side over both hellos, both nonces in them: it can be neither replayed in another connection
 * nor reflected to its maker, since the role is part of it.
 */
export const linkProof = (
  digests: DigestTools,
  linkKey: Uint8Array,
  role: LinkParty['role'],
  prefillHello: Uint8Array,
  decodeHello: Uint8Array,
): Uint8Array => digests.mac(linkKey, transcript(digests, `proof/${role}`, prefillHello, decodeHello))

export const sessionKeys = (
  digests: DigestTools,
  linkKey: Uint8Array,
  own: LinkParty['role'],
  prefillHello: Uint8Array,
  decodeHello: Uint8Array,
): SessionKeys => {
  const keyOf = (sender: LinkParty['role']): Uint8Array =>
    digests.mac(linkKey, transcript(digests, `key/${sender}`, prefillHello, decodeHello))
  return { send: keyOf(own), receive: keyOf(own === 'prefill' ? 'decode' : 'prefill') }
}

const transcript = (
  digests: DigestTools,
  label: string,
  prefillHello: Uint8Array,
  decodeHello: Uint8Array,
): Uint8Array =>
  Buffer.concat([Buffer.from(`bulkhead/link/1/${label}\0`), digests.sha256(prefillHello), digests.sha256(decodeHello)])

export const proofHeader = (proof: Uint8Array): Buffer => new HeaderWriter(HEADER_LIMIT).bytes(proof).done()

export const readProof = (header: Uint8Array): Uint8Array | null => {
  const reader = new HeaderReader(header)
  const proof = reader.bytes(PROOF_BYTES)
  return reader.ok ? proof : null
}
