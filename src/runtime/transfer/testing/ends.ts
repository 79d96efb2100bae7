import { setTimeout as sleep } from 'node:timers/promises'
import type { EndpointEvents } from '../endpoint.ts'
import { type Heard, listener } from './pair.ts'

/** What an endpoint told, line by line, and what came over it. */
export interface Told {
  readonly events: EndpointEvents
  readonly log: string[]
  readonly heard: Heard
}

export const told = (): Told => {
  const heard = listener()
  const log: string[] = []
  const events: EndpointEvents = {
    ...heard.events,
    up: () => log.push('up'),
    down: (reason) => log.push(`down ${reason}`),
    drained: () => log.push('drained'),
    violation: (reason) => log.push(`violation ${reason}`),
  }
  return { events, log, heard }
}

export const until = async (condition: () => boolean): Promise<void> => {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 300) throw new Error('waited in vain')
    await sleep(10)
  }
}
