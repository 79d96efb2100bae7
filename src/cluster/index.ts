export { DecodeMachine } from './decode/machine.ts'
export type {
  ClaimEffect,
  CloseLeaseEffect,
  CloseLinkEffect,
  CopyRowsEffect,
  DecodeEffect,
  DiscardEffect,
  DiscardReason,
  ForwardEffect,
  OpenLeasesEffect,
  PageTag,
  PlaceEffect,
  PrefillEffect,
  PublishPageEffect,
  RetireEffect,
  RevokeEffect,
  RouterEffect,
  ScrubEffect,
  ScrubMode,
  SendAcknowledgeEffect,
  SendManifestEffect,
  SendPageEffect,
  SweepEffect,
  TelemetryEffect,
  TimerEffect,
  VerifyPageEffect,
} from './effects.ts'
export type { DecodeEvent, PrefillEvent, RouterEvent, Timed, WorkerEvent } from './events.ts'
export type {
  ContractFence,
  Delivery,
  Fences,
  HeldPrompt,
  IdentityFence,
  SealFence,
  Shortfall,
  TicketFence,
  TicketGate,
} from './fences.ts'
export { fullFences } from './full-fences.ts'
export type { Decoder, Machine, Prefiller, Router } from './machines.ts'
export type {
  Abort,
  ChannelState,
  DeclineCode,
  DecodeToPrefill,
  DecodeToRouter,
  FailureCode,
  FinishSequence,
  Identity,
  Lease,
  LeaseAcknowledged,
  LeaseClosed,
  ManifestFrame,
  PageFrame,
  Prefill,
  PrefillToDecode,
  PrefillToRouter,
  Reserve,
  RouterToDecode,
  RouterToPrefill,
  WorkerHello,
} from './messages.ts'
export type {
  DecodeOptions,
  PrefillOptions,
  PrefixCacheOptions,
  RouterOptions,
  Transport,
  WorkerOptions,
} from './options.ts'
export { decodeDefaults, prefillDefaults, privatePrefixes, routerDefaults } from './options.ts'
export type {
  DetectorState,
  EngineEvent,
  EngineHandle,
  EnginePort,
  EngineRequest,
  PoolUse,
  ServedModel,
} from './port.ts'
export { PrefillMachine } from './prefill/machine.ts'
export { RouterMachine } from './router/machine.ts'
