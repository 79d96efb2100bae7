/** A response body written frame by frame; nothing is lost before its end, whichever end it is. */
export interface FrameStream {
  readonly body: ReadableStream<Uint8Array>
  write(frame: string): void
  /** Drops what nobody has read yet: for a feed of states, where only the newest matters. */
  replace(frame: string): void
  /** The clean end, after everything written has been read. */
  close(): void
  /** The other end: what was written can still be read, then the body fails, so that the host resets the connection (R12). */
  reset(): void
}

/**
 * Frames wait here, not in the stream's own queue, since `controller.error` would drop that queue. What waits is bounded by the
 * request's contract of output tokens; a slow reader slows nobody else. `onCancel` is told when the reader gives up.
 */
export const createFrameStream = (onCancel: () => void): FrameStream => {
  const encoder = new TextEncoder()
  let waiting: string[] = []
  let ending: 'open' | 'closed' | 'reset' = 'open'
  let wake: (() => void) | null = null

  const notify = (): void => {
    wake?.()
    wake = null
  }

  const serve = (controller: ReadableStreamDefaultController<Uint8Array>): boolean => {
    if (waiting.length > 0) {
      controller.enqueue(encoder.encode(waiting.join('')))
      waiting = []
      return true
    }
    if (ending === 'closed') controller.close()
    if (ending === 'reset') controller.error(new Error('stream_reset'))
    return ending !== 'open'
  }

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller): Promise<void> {
        while (!serve(controller)) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      },
      cancel(): void {
        ending = 'closed'
        waiting = []
        notify()
        onCancel()
      },
    },
    { highWaterMark: 0 },
  )

  return {
    body,
    write(frame): void {
      if (ending !== 'open') return
      waiting.push(frame)
      notify()
    },
    replace(frame): void {
      if (ending !== 'open') return
      waiting = [frame]
      notify()
    },
    close(): void {
      if (ending !== 'open') return
      ending = 'closed'
      notify()
    },
    reset(): void {
      if (ending !== 'open') return
      ending = 'reset'
      notify()
    },
  }
}

/** One server-sent event. `data` is one line: JSON has no raw newline. */
export const sseFrame = (data: string): string => `data: ${data}\n\n`

export const sseDone = sseFrame('[DONE]')

export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies that buffer would turn a stream into one late answer.
  'x-accel-buffering': 'no',
}
