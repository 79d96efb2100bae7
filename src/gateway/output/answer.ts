import { type ErrorBody, errorResponse, openaiError } from '../errors.ts'
import type { FinishReason, ReleasedToken, Usage } from '../exchange/index.ts'
import { createFrameStream, sseDone, sseFrame, sseHeaders } from './frame-stream.ts'
import type { AnswerFormat, FinishedChoice } from './types.ts'

/** How one answer reaches its client; called in the exchange's order, and `complete`, `fail` or `abandon` exactly once. */
export interface AnswerWriter {
  begin(): void
  text(sequence: number, text: string, tokens: readonly ReleasedToken[]): void
  finish(sequence: number, reason: FinishReason): void
  complete(usage: Usage): void
  fail(error: ErrorBody): void
  abandon(): void
}

export interface AnswerTarget {
  readonly format: AnswerFormat
  /** Of a successful answer, read when its status is sent. */
  readonly headers: () => Readonly<Record<string, string>>
  /** Called exactly once. */
  readonly respond: (response: Response) => void
}

/** Nobody reads it: the client is gone. nginx's name for that, so logs and metrics tell it from an answer. */
const clientClosed = (): Response => new Response(null, { status: 499 })

/** Server-sent events. A failure before the first frame is a status; after it, an error frame and a reset without `[DONE]` (R12). */
export const streamedAnswer = (target: AnswerTarget, includeUsage: boolean, onCancel: () => void): AnswerWriter => {
  const { format, headers, respond } = target
  const frames = createFrameStream(onCancel)
  const opened = new Set<number>()
  let begun = false
  const send = (message: object): void => frames.write(sseFrame(JSON.stringify(message)))
  const open = (sequence: number): void => {
    if (opened.has(sequence)) return
    opened.add(sequence)
    const opening = format.opening(sequence)
    if (opening) send(opening)
  }
  return {
    begin(): void {
      begun = true
      respond(new Response(frames.body, { headers: { ...sseHeaders, ...headers() } }))
    },
    text(sequence, text, tokens): void {
      open(sequence)
      send(format.text(sequence, text, tokens))
    },
    finish(sequence, reason): void {
      open(sequence)
      send(format.finish(sequence, reason))
    },
    complete(usage): void {
      if (includeUsage) send(format.usage(usage))
      frames.write(sseDone)
      frames.close()
    },
    fail(error): void {
      if (!begun) {
        respond(errorResponse(error))
        return
      }
      send(openaiError(error))
      frames.reset()
    },
    abandon(): void {
      if (begun) frames.reset()
      else respond(clientClosed())
    },
  }
}

/** One JSON body, and a status that is decided only when everything is there. */
export const wholeAnswer = (target: AnswerTarget, n: number): AnswerWriter => {
  const { format, headers, respond } = target
  const texts = Array.from({ length: n }, (): string[] => [])
  const tokens = Array.from({ length: n }, (): ReleasedToken[] => [])
  const reasons: FinishReason[] = Array.from({ length: n }, () => 'length')
  return {
    begin: () => undefined,
    text(sequence, text, released): void {
      texts[sequence]?.push(text)
      tokens[sequence]?.push(...released)
    },
    finish(sequence, reason): void {
      reasons[sequence] = reason
    },
    complete(usage): void {
      const choices = reasons.map(
        (reason, i): FinishedChoice => ({ text: (texts[i] ?? []).join(''), tokens: tokens[i] ?? [], reason }),
      )
      const init = { headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers() } }
      respond(new Response(JSON.stringify(format.whole(choices, usage)), init))
    },
    fail: (error) => respond(errorResponse(error)),
    abandon: () => respond(clientClosed()),
  }
}
