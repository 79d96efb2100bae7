export type {
  Abort, DeclineCode, DecodeToPrefill, DecodeToRouter, FailureCode, FinishSequence, Identity, Lease, ManifestFrame, PageFrame,
  Prefill, PrefillToDecode, PrefillToRouter, Reserve, RouterToDecode, RouterToPrefill, WorkerHello,
} from './messages.ts'
export type { EngineEvent, EngineHandle, EnginePort, EngineRequest, PoolUse, ServedModel } from './port.ts'
