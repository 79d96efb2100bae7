import type { Machine } from '../../cluster/index.ts'

/** Steps one machine: an event's effects are executed in order before the next event is taken (see cluster/effects). */
export interface Driver<Event> {
  /** `attachment` is handed to the effects of this event alone: bytes that came with it. */
  dispatch(event: Event, attachment?: Uint8Array): void
}

/**
 * Events that effects cause are queued and stepped once the present one's effects are done. `onIdle` runs when the queue
 * is empty, before the outermost `dispatch` returns.
 */
export const createDriver = <Event, Effect>(
  machine: Machine<Event, Effect>,
  execute: (effect: Effect, attachment: Uint8Array | undefined) => void,
  onIdle: () => void = () => undefined,
): Driver<Event> => {
  const queue: { readonly event: Event; readonly attachment: Uint8Array | undefined }[] = []
  let running = false
  return {
    dispatch: (event, attachment) => {
      queue.push({ event, attachment })
      if (running) return
      running = true
      for (let next = queue.shift(); next; next = queue.shift()) {
        for (const effect of machine.step(next.event)) execute(effect, next.attachment)
      }
      running = false
      onIdle()
    },
  }
}
