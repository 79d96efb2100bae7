import type { Call, GatewayContext } from '../context.ts'
import { errorBody, GatewayError } from '../errors.ts'
import { type Prepared, type PrepareJob, prepare, prepareTask, readBody } from '../input/index.ts'
import { defaultBodyLimit, defaultOffloadAbove } from '../options.ts'

/**
 * Reads a call's body and prepares it: small ones here, large ones on another thread, so that no body holds up other requests. Never
 * throws. A client that goes away while its body waits for that thread takes it off the queue.
 */
export const prepareCall = async (
  context: GatewayContext,
  call: Call,
  surface: PrepareJob['surface'],
): Promise<Prepared> => {
  const { offload, offloadAbove = defaultOffloadAbove, bodyLimit = defaultBodyLimit } = context.options
  try {
    const body = await readBody(call.request, bodyLimit)
    const job: PrepareJob = { surface, body }
    if (body.length <= offloadAbove) return prepare(job, context.prompts)
    return (await offload.call(prepareTask, job, [body.buffer], call.request.signal)) as Prepared
  } catch (cause) {
    if (cause instanceof GatewayError) return { kind: 'error', model: null, error: cause.body, at: null }
    // The thread failed, timed out or stopped; its own message may hold text of the body and stays where it is.
    const error = errorBody({
      code: 'unavailable',
      message: 'The server could not read this request now.',
      retryAfterSeconds: 1,
    })
    return { kind: 'error', model: null, error, at: null }
  } finally {
    // What follows needs the ids alone, and may take minutes.
    call.releaseBody()
  }
}
