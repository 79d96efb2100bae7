import { abortPublished } from './abort-published.ts'
import { adapterAsSalt } from './adapter-as-salt.ts'
import { doubleFree } from './double-free.ts'
import { errorOverwritten } from './error-overwritten.ts'
import type { Fault } from './fault.ts'
import { idsMixedUp } from './ids-mixed-up.ts'
import { indexBeforeFill } from './index-before-fill.ts'
import { keyWithoutTenant } from './key-without-tenant.ts'
import { lateTailCopy } from './late-tail-copy.ts'
import { lateWriter } from './late-writer.ts'
import { layerNotReady } from './layer-not-ready.ts'
import { manifestOvertakes } from './manifest-overtakes.ts'
import { metadataSlot } from './metadata-slot.ts'
import { paddingRow } from './padding-row.ts'
import { pagesLost } from './pages-lost.ts'
import { partialFill } from './partial-fill.ts'
import { placeholder } from './placeholder.ts'
import { poolShrunk } from './pool-shrunk.ts'
import { readerAfterFree } from './reader-after-free.ts'
import { recycledState } from './recycled-state.ts'
import { roomCollision } from './room-collision.ts'
import { rowMixUp } from './row-mix-up.ts'
import { shiftedPages } from './shifted-pages.ts'
import { shortDecodePool } from './short-decode-pool.ts'
import { shortPrefillPool } from './short-prefill-pool.ts'
import { shortRows } from './short-rows.ts'
import { silentTruncation } from './silent-truncation.ts'
import { stagingBuffer } from './staging-buffer.ts'
import { staleReference } from './stale-reference.ts'
import { stepInFlight } from './step-in-flight.ts'
import { storeKey } from './store-key.ts'
import { stubCompletes } from './stub-completes.ts'
import { valueHalfMissing } from './value-half-missing.ts'
import { wrongBlock } from './wrong-block.ts'

/** Every fault of the catalogue, by class. */
export const faults: readonly Fault[] = [
  placeholder,
  stubCompletes,
  shortPrefillPool,
  shortDecodePool,
  poolShrunk,
  silentTruncation,
  errorOverwritten,
  lateWriter,
  staleReference,
  readerAfterFree,
  stagingBuffer,
  lateTailCopy,
  stepInFlight,
  doubleFree,
  paddingRow,
  partialFill,
  manifestOvertakes,
  layerNotReady,
  valueHalfMissing,
  shortRows,
  shiftedPages,
  recycledState,
  rowMixUp,
  idsMixedUp,
  metadataSlot,
  roomCollision,
  storeKey,
  adapterAsSalt,
  indexBeforeFill,
  abortPublished,
  wrongBlock,
  keyWithoutTenant,
  pagesLost,
]
