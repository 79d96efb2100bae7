import { GatewayError } from '../errors.ts'

/**
 * All bytes of a request's body, at most `limit`. A host that bounds bodies itself has answered already when this throws
 * `body_unreadable`; without such a host the bound here is the bound.
 */
export const readBody = async (request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> => {
  if (request.body === null) return new Uint8Array(0)
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await next(reader)
    if (done) break
    length += value.length
    if (length > limit) {
      // The rest is not wanted; a source that fails while being cancelled changes nothing.
      reader.cancel().catch(() => undefined)
      throw new GatewayError({ code: 'request_too_large', message: `The request body is larger than ${limit} bytes.` })
    }
    chunks.push(value)
  }
  const body = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}

const next = async (
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<
  { readonly done: true; readonly value: undefined } | { readonly done: false; readonly value: Uint8Array }
> => {
  try {
    const result = await reader.read()
    return result.done ? { done: true, value: undefined } : { done: false, value: result.value }
  } catch (cause) {
    throw new GatewayError({
      code: 'body_unreadable',
      message: 'The request body could not be read to its end.',
      cause,
    })
  }
}
