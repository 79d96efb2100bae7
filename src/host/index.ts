export { HostError, type HostErrorCode } from './errors.ts'
export type {
  Clock,
  DigestTools,
  KeyedDigest,
  KeyLabel,
  Offload,
  OffloadTasks,
  PrivateFiles,
  Random,
  Secrets,
  Timers,
} from './types.ts'
