import type { TelemetryEvent } from './events.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** One log line as a value. Fields are names, counts and codes; there is no place for a prompt, an answer or a key. */
export interface LogRecord {
  /** ISO 8601, UTC. */
  readonly time: string
  readonly level: LogLevel
  readonly event: string
  readonly fields: Readonly<Record<string, string | number | boolean | null>>
}

/** Cheap enough to ask before a record is made: most events of a busy server are `debug`. */
export const logLevel = (event: TelemetryEvent): LogLevel => {
  switch (event.kind) {
    case 'integrity_fault':
    case 'transfer_violation':
      return 'error'
    case 'detector':
      return event.state === 'failed' ? 'error' : event.state === 'stale' ? 'warn' : 'debug'
    case 'request_failed':
    case 'page_quarantined':
    case 'worker_down':
      return 'warn'
    case 'worker_up':
    case 'page_returned':
    case 'http_request':
      return 'info'
    default:
      return 'debug'
  }
}

/** `wall` is milliseconds since 1970. */
export const logRecord = (event: TelemetryEvent, wall: number): LogRecord => {
  const { kind, ...fields } = event
  return { time: new Date(wall).toISOString(), level: logLevel(event), event: kind, fields }
}

/** One JSON object on one line, without the newline. */
export const renderJsonLine = (record: LogRecord): string =>
  JSON.stringify({ time: record.time, level: record.level, event: record.event, ...record.fields })

// Control characters would let a value forge a second line or drive the terminal.
const plain = (value: string | number | boolean | null): string => {
  const text = String(value).replace(/[^\x20-\x7e]/g, '?')
  return /[\s"=]/.test(text) ? JSON.stringify(text) : text
}

/** For people: `13:45:07 warn  worker_down role=decode model=tiny …`. */
export const renderHumanLine = (record: LogRecord): string => {
  const fields = Object.entries(record.fields).map(([name, value]) => `${name}=${plain(value)}`)
  return [record.time.slice(11, 19), record.level.padEnd(5), record.event, ...fields].join(' ')
}
