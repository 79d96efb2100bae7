import { abortPublished } from './abort-published-to-the-cache.ts'
import { pagesLost } from './abort-strands-pages.ts'
import { adapterAsSalt } from './adapter-taken-for-a-salt.ts'
import { keyWithoutTenant } from './cache-key-without-tenant.ts'
import { wrongBlock } from './cached-pages-restored-to-wrong-blocks.ts'
import { manifestOvertakes } from './completion-overtakes-pages.ts'
import { lateTailCopy } from './copy-not-waited-for.ts'
import { shortDecodePool } from './decode-pool-short.ts'
import { doubleFree } from './double-free.ts'
import { errorOverwritten } from './error-overwritten-by-length.ts'
import type { Fault } from './fault.ts'
import { stubCompletes } from './given-up-but-completed.ts'
import { indexBeforeFill } from './index-before-fill.ts'
import { lateStore } from './late-store-after-abort.ts'
import { metadataSlot } from './metadata-slot-reused.ts'
import { paddingRow } from './padding-row-writes-a-real-slot.ts'
import { readerAfterFree } from './page-freed-under-its-reader.ts'
import { lateWriter } from './page-freed-under-its-writer.ts'
import { pageSentBeforeItIsComputed } from './page-sent-before-it-is-computed.ts'
import { shortRows } from './page-with-too-few-rows.ts'
import { shiftedPages } from './pages-shifted-by-one.ts'
import { partialFill } from './partial-fill-reported-complete.ts'
import { poolShrunk } from './pool-shrunk-by-restart.ts'
import { shortPrefillPool } from './prefill-pool-short.ts'
import { silentTruncation } from './prompt-cut-silently.ts'
import { idsMixedUp } from './prompt-of-another-request.ts'
import { queuedStore } from './queued-store-after-abort.ts'
import { layerNotReady } from './read-before-layer-is-ready.ts'
import { recycledState } from './recycled-state-not-reset.ts'
import { placeholder } from './rejected-placeholder.ts'
import { rowMixUp } from './rows-of-a-batch-mixed-up.ts'
import { stagingBuffer } from './staging-buffer-reused.ts'
import { staleReference } from './stale-reference-replayed.ts'
import { stepInFlight } from './step-in-flight-on-freed-pages.ts'
import { storeKey } from './store-key-without-owner.ts'
import { roomCollision } from './two-requests-in-one-room.ts'
import { valueHalfMissing } from './value-half-missing.ts'

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
  queuedStore,
  lateStore,
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
  pageSentBeforeItIsComputed,
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
