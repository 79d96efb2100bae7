import type { Fences, Lease, PageFrame } from '../../cluster/index.ts'
import { type PoolShape, prefixDigests } from '../../kv/index.ts'
import { simCrypto } from './crypto.ts'
import { type RowBytes, SimMemory } from './memory.ts'
import { ForwardRun } from './model.ts'

export interface SentPage {
  readonly frame: PageFrame
  readonly bytes: RowBytes
}

/** What prefill sends for a prompt under its lease: its rows, computed in a pool of its own by `writer`, sealed; one layer. */
export const framesOf = (
  { requestId, ids, lease }: { readonly requestId: string; readonly ids: Int32Array; readonly lease: Lease | null },
  shape: PoolShape,
  fences: Fences,
  writer: number,
): SentPage[] => {
  const { pageSize } = shape
  const count = Math.ceil(ids.length / pageSize)
  const own = new SimMemory({ ...shape, pages: count })
  const pages = Uint32Array.from({ length: count }, (_, i) => i)
  const table = { pages, owners: pages, generations: pages }
  const plan = { requestId, attempt: 1, tokens: ids, start: 0, write: 'append', table, sample: null } as const
  const none = { tags: false, filled: false, guards: false }
  new ForwardRun({ id: 1, sequences: [plan] }, own, none, [writer], () => {}).layer(0)
  const digests = prefixDigests(ids, pageSize, simCrypto.sha256)
  return [...pages].map((ordinal) => {
    const rows = Math.min(pageSize, ids.length - ordinal * pageSize)
    const place = { layer: 0, ordinal, rows }
    const lineage = { namespace: `${requestId}/1`, tokenDigest: digests[ordinal]!, ...place }
    const key = fences.seals.key(lineage, simCrypto.sha256)
    const seal = key === null ? new Uint8Array(16) : own.seal(ordinal, 0, rows, key)
    const { id, epoch } = lease!
    const frame = { kind: 'page', requestId, attempt: 1, lease: { id, epoch }, ...place, seal } as const
    return { frame, bytes: own.read(ordinal, 0, rows) }
  })
}
