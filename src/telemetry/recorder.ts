import type { TelemetryEvent } from './events.ts'
import { createCounter, createHistogram, type MetricFamily } from './registry.ts'

/** Turns events into metrics. Holds numbers only: what an event names beyond model, role, rule and code is dropped. */
export interface Recorder {
  record(event: TelemetryEvent): void
  families(): readonly MetricFamily[]
}

const latencyBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const gapBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const stepBounds = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1]

export const createRecorder = (): Recorder => {
  const requests = createCounter('bulkhead_requests_total', 'Generation requests that ended, by outcome.')
  const refused = createCounter('bulkhead_requests_refused_total', 'Requests refused, by error code.')
  const failed = createCounter(
    'bulkhead_requests_failed_total',
    'Admitted requests that ended in an error, by error code.',
  )
  const finishes = createCounter('bulkhead_finish_reasons_total', 'Completed requests, by finish reason.')
  const tokens = createCounter('bulkhead_tokens_total', 'Tokens of admitted prompts and of completed answers.')
  const contracted = createCounter('bulkhead_pages_contracted_total', 'Decode pages contracted at admission.')
  const faults = createCounter('bulkhead_integrity_faults_total', 'Faults caught by a fence, by role, rule and kind.')
  const violations = createCounter('bulkhead_transfer_violations_total', 'Transfer frames refused, by reason.')
  const quarantined = createCounter('bulkhead_pages_quarantined_total', 'Pages put into quarantine, by reason.')
  const fenced = createCounter(
    'bulkhead_pages_fenced_total',
    'Pages of ended requests kept in quarantine because prefill could still store into them.',
  )
  const released = createCounter(
    'bulkhead_pages_released_total',
    'Fenced pages that came home, by what proved that nobody stores into them any more.',
  )
  const returned = createCounter('bulkhead_pages_returned_total', 'Pages returned from quarantine after proof.')
  const ups = createCounter('bulkhead_worker_starts_total', 'Times a worker came up.')
  const restarts = createCounter('bulkhead_worker_restarts_total', 'Times a worker came up again after it was lost.')
  const losses = createCounter('bulkhead_worker_losses_total', 'Times a worker was lost.')
  const detectors = createCounter(
    'bulkhead_detector_changes_total',
    'Times a drill found a detector in another state than before, by that state.',
  )
  const rows = createCounter('bulkhead_forward_rows_total', 'Rows computed by forward passes.')
  const lookups = createCounter('bulkhead_prefix_lookups_total', 'Prompts looked up in the prefix cache, by outcome.')
  const cachedTokens = createCounter('bulkhead_prefix_cached_tokens_total', 'Prompt tokens reused, not computed.')
  const prefixPages = createCounter('bulkhead_prefix_published_total', 'Pages published to the prefix cache.')
  const evictions = createCounter('bulkhead_prefix_evicted_total', 'Pages evicted from the prefix cache, by reason.')
  const http = createCounter('bulkhead_http_requests_total', 'HTTP requests answered, by route and status.')
  const connections = createCounter(
    'bulkhead_connection_events_total',
    'Requests refused before the gateway saw them, connections cut or left, by kind and code.',
  )
  const httpSeconds = createHistogram(
    'bulkhead_http_request_seconds',
    'Time until the status of an HTTP request was sent: at the first token of a stream, at the end of anything else.',
    latencyBounds,
  )
  const first = createHistogram(
    'bulkhead_time_to_first_token_seconds',
    'Arrival to first verified token.',
    latencyBounds,
  )
  const gaps = createHistogram('bulkhead_inter_token_seconds', 'Time between two tokens of one sequence.', gapBounds)
  const steps = createHistogram('bulkhead_forward_seconds', 'Time of one forward pass.', stepBounds)
  const seen = new Set<string>()

  return {
    record(event): void {
      switch (event.kind) {
        case 'request_admitted':
          tokens.add({ model: event.model, kind: 'prompt' }, event.promptTokens)
          contracted.add({ model: event.model }, event.pages)
          return
        case 'request_refused':
          requests.add({ model: event.model, outcome: 'refused' })
          refused.add({ model: event.model, code: event.code })
          return
        case 'request_finished':
          requests.add({ model: event.model, outcome: 'complete' })
          finishes.add({ model: event.model, reason: event.reason })
          tokens.add({ model: event.model, kind: 'output' }, event.outputTokens)
          return
        case 'request_failed':
          requests.add({ model: event.model, outcome: 'failed' })
          failed.add({ model: event.model, code: event.code })
          return
        case 'request_aborted':
          requests.add({ model: event.model, outcome: 'aborted' })
          return
        case 'integrity_fault':
          faults.add({ ...modelOf(event), role: event.role, rule: event.rule, fault: event.fault })
          return
        case 'transfer_violation':
          violations.add({ ...modelOf(event), reason: event.reason }, event.count ?? 1)
          return
        case 'page_quarantined':
          quarantined.add({ ...modelOf(event), role: event.role, reason: event.reason })
          return
        case 'page_returned':
          returned.add({ ...modelOf(event), role: event.role })
          return
        case 'lease_fenced':
          fenced.add(modelOf(event), event.pages)
          return
        case 'lease_released':
          released.add({ ...modelOf(event), by: event.by }, event.pages)
          return
        case 'worker_up': {
          const labels = { role: event.role, model: event.model }
          const life = `${event.role} ${event.model}`
          ups.add(labels)
          restarts.add(labels, seen.has(life) ? 1 : 0)
          seen.add(life)
          return
        }
        case 'worker_down':
          losses.add({ role: event.role, model: event.model })
          return
        case 'detector':
          detectors.add({ role: event.role, model: event.model, detector: event.detector, state: event.state })
          return
        case 'step':
          rows.add({ role: event.role, model: event.model }, event.rows)
          steps.observe({ role: event.role, model: event.model }, event.seconds)
          return
        case 'prefix_lookup':
          lookups.add({ model: event.model, outcome: event.cachedTokens > 0 ? 'hit' : 'miss' })
          cachedTokens.add({ model: event.model }, event.cachedTokens)
          return
        case 'prefix_published':
          prefixPages.add({ model: event.model }, event.pages)
          return
        case 'prefix_evicted':
          evictions.add({ model: event.model, reason: event.reason }, event.pages)
          return
        case 'http_request':
          http.add({ route: event.route, method: event.method, status: String(event.status) })
          httpSeconds.observe({ route: event.route }, event.seconds)
          return
        case 'connection':
          connections.add({ what: event.what, code: event.code })
          return
        case 'first_token':
          first.observe({ model: event.model }, event.seconds)
          return
        case 'token_gap':
          gaps.observe({ model: event.model }, event.seconds)
          return
        default:
          unknownEvent(event)
      }
    },
    families: () =>
      [
        requests,
        refused,
        failed,
        finishes,
        tokens,
        contracted,
        faults,
        violations,
        quarantined,
        fenced,
        released,
        returned,
        ups,
        restarts,
        losses,
        detectors,
        rows,
        lookups,
        cachedTokens,
        prefixPages,
        evictions,
        http,
        connections,
        httpSeconds,
        first,
        gaps,
        steps,
      ].map((metric) => metric.family()),
  }
}

const modelOf = ({ model }: { readonly model?: string }): Readonly<Record<string, string>> =>
  model === undefined ? {} : { model }

/** Compile-time proof that every kind is counted; a newer worker's event of another kind is dropped, not fatal. */
const unknownEvent = (_event: never): void => undefined
