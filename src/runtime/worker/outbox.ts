import type { DecodeToRouter, PoolUse, PrefillToRouter } from '../../cluster/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import type { FromWorker } from './ipc.ts'

const POOL_EVERY_MS = 100

/** Gathers what a worker says in one turn into one message, and looks at its pool at most ten times a second. */
export const createOutbox = (send: (message: FromWorker) => void, poolUse: () => PoolUse, now: () => number) => {
  let messages: (DecodeToRouter | PrefillToRouter)[] = []
  let telemetry: TelemetryEvent[] = []
  let lastLook = Number.NEGATIVE_INFINITY
  let looking = false

  const look = (): void => {
    looking = false
    lastLook = now()
    send({ kind: 'pool', use: poolUse() })
  }

  return {
    send: (message: DecodeToRouter | PrefillToRouter): void => {
      messages.push(message)
    },
    telemetry: (event: TelemetryEvent): void => {
      telemetry.push(event)
    },
    flush: (): void => {
      if (messages.length > 0 || telemetry.length > 0) {
        send({ kind: 'out', messages, telemetry })
        messages = []
        telemetry = []
      }
      if (looking) return
      looking = true
      setTimeout(look, Math.max(0, lastLook + POOL_EVERY_MS - now()))
    },
  }
}
