import type { DecodeToRouter, PoolUse, PrefillToRouter } from '../../cluster/index.ts'
import type { LedgerFault } from '../../kv/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { FromWorker, WorkerRole } from './ipc.ts'

const POOL_EVERY_MS = 100
const AUDIT_EVERY_MS = 1_000

export interface OutboxOptions {
  readonly role: WorkerRole
  readonly send: (message: FromWorker) => void
  readonly machine: { poolUse(): PoolUse; audit(): LedgerFault | null }
  readonly now: () => number
  /** The books do not add up: no page of this pool can be trusted any more (R7). */
  readonly fatal: (error: Error) => void
}

export interface Outbox {
  send(message: DecodeToRouter | PrefillToRouter): void
  telemetry(event: TelemetryEvent): void
  flush(): void
}

/**
 * Gathers what a worker says in one turn into one message. After turns it shows its pool, at most ten times a second, and
 * audits the ledger in full, at most once a second.
 */
export const createOutbox = ({ role, send, machine, now, fatal }: OutboxOptions): Outbox => {
  let messages: (DecodeToRouter | PrefillToRouter)[] = []
  let telemetry: TelemetryEvent[] = []
  let lookedAt = Number.NEGATIVE_INFINITY
  let auditedAt = Number.NEGATIVE_INFINITY
  let looking = false

  const flushNow = (): void => {
    if (messages.length === 0 && telemetry.length === 0) return
    send({ kind: 'out', messages, telemetry })
    messages = []
    telemetry = []
  }

  const audit = (): void => {
    const fault = machine.audit()
    if (!fault) return
    const { page, owner } = fault.details
    telemetry.push({
      kind: 'integrity_fault',
      role,
      rule: 'R7',
      fault: fault.code,
      page: page ?? -1,
      owner: owner ?? 0,
      requestId: '',
    })
    flushNow()
    fatal(new Error(`R7 ${fault.code}: ${fault.message}`))
  }

  const look = (): void => {
    looking = false
    lookedAt = now()
    send({ kind: 'pool', use: machine.poolUse() })
    if (lookedAt - auditedAt < AUDIT_EVERY_MS) return
    auditedAt = lookedAt
    audit()
  }

  return {
    send: (message) => {
      messages.push(message)
    },
    telemetry: (event) => {
      telemetry.push(event)
    },
    flush: () => {
      flushNow()
      if (looking) return
      looking = true
      setTimeout(look, Math.max(0, lookedAt + POOL_EVERY_MS - now()))
    },
  }
}
