import { type ErrorBody, errorBody } from '../errors.ts'
import type { Ending } from '../exchange/index.ts'

type Failed = Extract<Ending, { kind: 'failed' }>

const integrity = (rule: string, what: string): ErrorBody =>
  errorBody({
    code: 'kv_integrity',
    message: `The request was stopped: ${what}. Nothing that was not verified has been sent.`,
    details: { rule },
  })

/** An engine's failure as the client is told it: integrity and our own faults are 500, "not now" is 503 with advice. */
export const failureError = (failed: Failed): ErrorBody => {
  const retryAfterSeconds = Math.max(1, failed.retryAfterSeconds ?? 1)
  switch (failed.code) {
    case 'kv_integrity':
      return integrity('R5', 'its KV cache failed verification')
    case 'contract_mismatch':
      return integrity('R4', 'what was delivered is not what was contracted')
    case 'bad_ticket':
      return integrity('R3', 'its admission ticket did not match the prompt that a worker holds')
    case 'broken_stream':
      return integrity('R10', 'the engine delivered output out of order')
    case 'worker_lost':
      return errorBody({
        code: 'worker_lost',
        message: 'A worker was lost while it held this request. Please try again.',
        retryAfterSeconds,
      })
    case 'queue_full':
      return errorBody({
        code: 'queue_full',
        message: 'The server is overloaded: its queue is full. Please try again later.',
        retryAfterSeconds,
      })
    case 'queue_timeout':
      return errorBody({
        code: 'queue_timeout',
        message: 'The server is overloaded: no room became free in time. Please try again later.',
        retryAfterSeconds,
      })
    case 'unavailable':
      return errorBody({
        code: 'unavailable',
        message: 'The model is not available now. Please try again later.',
        retryAfterSeconds,
      })
    case 'internal':
      return errorBody({ code: 'internal', message: 'The server failed to complete this request.' })
  }
}
