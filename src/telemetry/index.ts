export type { Role, TelemetryEvent } from './events.ts'
