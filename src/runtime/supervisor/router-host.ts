import type {
  EngineEvent,
  EngineHandle,
  EngineRequest,
  Router,
  RouterEffect,
  RouterEvent,
  RouterToDecode,
  RouterToPrefill,
} from '../../cluster/index.ts'
import type { Clock } from '../../host/index.ts'
import type { TelemetryEvent } from '../../telemetry/index.ts'
import { createDriver } from '../worker/driver.ts'

export interface RouterHostOptions {
  readonly router: Router
  readonly clock: Clock
  readonly toDecode: (epoch: number, message: RouterToDecode) => void
  readonly toPrefill: (epoch: number, message: RouterToPrefill) => void
  readonly telemetry: (event: TelemetryEvent) => void
}

type Untimed<Event> = Event extends unknown ? Omit<Event, 'now'> : never

/** Drives a router and keeps who waits for which answer. */
export interface RouterHost {
  submit(request: EngineRequest, sink: (event: EngineEvent) => void): EngineHandle
  dispatch(event: Untimed<RouterEvent>): void
  load(): { readonly waiting: number; readonly running: number }
  /** Refuses new requests, and resolves when none is left or the time is up. */
  drain(graceMs: number): Promise<void>
  /** Fails what is left: there will be no worker any more. */
  close(): void
}

/** Node.js fires a longer one at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const createRouterHost = (options: RouterHostOptions): RouterHost => {
  const { router, clock } = options
  const sinks = new Map<string, (event: EngineEvent) => void>()
  let timer: NodeJS.Timeout | null = null
  let draining = false
  let empty: (() => void) | null = null

  const setTimer = (at: number | null): void => {
    if (timer) clearTimeout(timer)
    if (at === null) {
      timer = null
      return
    }
    // A tick that comes too early is harmless: the router asks for another.
    const wait = Math.min(Math.max(0, Math.ceil(at - clock.now())), LONGEST_TIMER_MS)
    timer = setTimeout(() => dispatch({ kind: 'tick' }), wait)
  }

  const deliver = (requestId: string, event: EngineEvent): void => {
    const sink = sinks.get(requestId)
    const over = event.kind === 'done' || event.kind === 'failed'
    if (over) sinks.delete(requestId)
    try {
      sink?.(event)
    } catch (error) {
      // One request's listener must not stop the router in the middle of its effects; the process hears of it all the same.
      queueMicrotask(() => {
        throw error
      })
    }
    if (over && sinks.size === 0) empty?.()
  }

  const execute = (effect: RouterEffect): void => {
    switch (effect.kind) {
      case 'to_decode':
        options.toDecode(effect.epoch, effect.message)
        return
      case 'to_prefill':
        options.toPrefill(effect.epoch, effect.message)
        return
      case 'telemetry':
        options.telemetry(effect.event)
        return
      case 'set_timer':
        setTimer(effect.at)
        return
      case 'deliver':
        deliver(effect.requestId, effect.event)
        return
    }
  }

  const driver = createDriver<RouterEvent, RouterEffect>(router, execute)
  const dispatch: RouterHost['dispatch'] = (event) => driver.dispatch({ ...event, now: clock.now() } as RouterEvent)
  // Later, so that no event reaches the sink before its owner holds the handle; a request's events stay in order.
  const post: RouterHost['dispatch'] = (event) => queueMicrotask(() => dispatch(event))

  return {
    submit: (request, sink) => {
      const { requestId } = request
      if (draining || sinks.has(requestId)) {
        queueMicrotask(() => sink({ kind: 'failed', code: 'unavailable', retryAfterSeconds: 1 }))
        return { abort: () => undefined, finishSequence: () => undefined }
      }
      sinks.set(requestId, sink)
      post({ kind: 'submit', request })
      return {
        abort: () => post({ kind: 'abort', requestId }),
        finishSequence: (sequence) => post({ kind: 'finish_sequence', requestId, sequence }),
      }
    },
    dispatch,
    load: () => router.load(),
    drain: async (graceMs) => {
      draining = true
      if (sinks.size === 0 || graceMs <= 0) return
      await new Promise<void>((resolve) => {
        const limit = setTimeout(resolve, graceMs)
        empty = () => {
          clearTimeout(limit)
          resolve()
        }
      })
    },
    close: () => {
      draining = true
      for (const requestId of [...sinks.keys()]) {
        deliver(requestId, { kind: 'failed', code: 'unavailable', retryAfterSeconds: null })
      }
      setTimer(null)
    },
  }
}
