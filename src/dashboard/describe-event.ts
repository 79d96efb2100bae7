import type { TelemetryEvent } from '../telemetry/index.ts'
import type { FeedEvent } from './feed.ts'

type Shown = Pick<FeedEvent, 'tone' | 'text'>

const requestEnds: Readonly<Record<string, string>> = {
  context_length_exceeded: 'refused: too long for the model, before any page was reserved',
  rate_limit_exceeded: 'held back: the tenant is over its rate',
}

/** An event in a sentence for a tired operator, or null if it is routine. No prompt, answer, key or tenant can be in it. */
export const describeEvent = (event: TelemetryEvent): Shown | null => {
  switch (event.kind) {
    case 'request_refused':
      return {
        tone: 'idle',
        text: `${event.model}: a request was ${requestEnds[event.code] ?? `refused (${event.code})`}`,
      }
    case 'request_failed':
      return { tone: 'bad', text: `${event.model}: a request failed (${event.code})` }
    case 'request_aborted':
      return { tone: 'idle', text: `${event.model}: a client went away; its pages are being freed` }
    case 'integrity_fault':
      return {
        tone: 'bad',
        text: `${nameOf(event)}${event.rule} stopped ${event.requestId} in ${event.role}: ${event.fault} on page ${event.page}`,
      }
    case 'transfer_violation':
      return {
        tone: 'bad',
        text: `${nameOf(event)}${(event.count ?? 1) > 1 ? `${event.count} transfer frames were` : 'a transfer frame was'} refused (${event.reason})`,
      }
    case 'page_quarantined':
      return { tone: 'warn', text: `${nameOf(event)}${event.role} page ${event.page} is quarantined (${event.reason})` }
    case 'page_returned':
      return { tone: 'good', text: `${nameOf(event)}${event.role} page ${event.page} came back from quarantine` }
    case 'worker_up':
      return { tone: 'good', text: `${event.model}: ${event.role} is up (life ${event.epoch})` }
    case 'worker_down':
      return { tone: 'bad', text: `${event.model}: ${event.role} was lost (${event.reason})` }
    case 'detector':
      if (event.state === 'failed') {
        return {
          tone: 'bad',
          text: `${event.model}: ${event.role} detector ${event.detector} (${event.rule}) failed its drill`,
        }
      }
      if (event.state !== 'stale') return null
      return { tone: 'warn', text: `${event.model}: ${event.role} detector ${event.detector} was not drilled lately` }
    case 'request_admitted':
    case 'request_finished':
    case 'step':
    case 'lease_fenced':
    case 'lease_released':
    case 'prefix_lookup':
    case 'prefix_published':
    case 'prefix_evicted':
    case 'http_request':
    case 'connection':
    case 'first_token':
    case 'token_gap':
      return null
  }
}

const nameOf = ({ model }: { readonly model?: string }): string => (model === undefined ? '' : `${model}: `)
