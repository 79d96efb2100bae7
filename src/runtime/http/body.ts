import type { IncomingMessage } from 'node:http'
import { REFUSALS, type Refusal } from './refusal.ts'
import type { HttpLimits } from './types.ts'

/** Bytes of all bodies that are held now, against one bound. */
export interface BodyBudget {
  take(bytes: number): boolean
  give(bytes: number): void
}

export const createBodyBudget = (limit: number): BodyBudget => {
  let used = 0
  return {
    take: (bytes) => {
      if (used + bytes > limit) return false
      used += bytes
      return true
    },
    give: (bytes) => {
      used -= bytes
    },
  }
}

export interface RequestBody {
  readonly stream: ReadableStream<Uint8Array>
  /** Gives the bytes back to the budget: nobody holds them any more. May be called again. */
  release(): void
}

type Arrival =
  | { readonly kind: 'chunk'; readonly bytes: Buffer }
  | { readonly kind: 'end' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'stall' }

/**
 * A body as a stream that is read only when the handler pulls, so a request refused on its headers costs no buffer.
 * A failure errors the stream and is told to `onFailure` first, which answers in the handler's stead.
 */
export const requestBody = (
  request: IncomingMessage,
  limits: HttpLimits,
  budget: BodyBudget,
  onFirstPull: () => void,
  onFailure: (refusal: Refusal) => void,
): RequestBody => {
  let received = 0
  let held = 0
  let pulled = false
  const deadline = performance.now() + limits.bodyTotalMs

  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, refusal: Refusal): void => {
    onFailure(refusal)
    controller.error(new Error(refusal.code))
  }

  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (!pulled) {
          pulled = true
          onFirstPull()
        }
        const arrival = await nextArrival(request, Math.min(limits.bodyStallMs, deadline - performance.now()))
        if (arrival.kind === 'end') return controller.close()
        if (arrival.kind === 'lost') return controller.error(new Error('client_gone'))
        if (arrival.kind === 'stall') return fail(controller, REFUSALS.stalled)
        received += arrival.bytes.length
        if (received > limits.bodyBytes) return fail(controller, REFUSALS.tooLarge)
        if (!budget.take(arrival.bytes.length)) return fail(controller, REFUSALS.busy)
        held += arrival.bytes.length
        controller.enqueue(arrival.bytes)
      },
    },
    { highWaterMark: 0 },
  )
  return {
    stream,
    release: () => {
      budget.give(held)
      held = 0
    },
  }
}

const nextArrival = (request: IncomingMessage, patienceMs: number): Promise<Arrival> => {
  const now = ready(request)
  if (now) return Promise.resolve(now)
  return new Promise((resolve) => {
    const settle = (arrival: Arrival): void => {
      clearTimeout(timer)
      request.off('readable', look).off('end', look).off('close', look)
      resolve(arrival)
    }
    const look = (): void => {
      const arrival = ready(request)
      if (arrival) settle(arrival)
    }
    const timer = setTimeout(() => settle({ kind: 'stall' }), Math.max(patienceMs, 0))
    request.on('readable', look).on('end', look).on('close', look)
  })
}

const ready = (request: IncomingMessage): Arrival | null => {
  const bytes = request.read() as Buffer | null
  if (bytes) return { kind: 'chunk', bytes }
  if (request.readableEnded) return { kind: 'end' }
  return request.destroyed ? { kind: 'lost' } : null
}
