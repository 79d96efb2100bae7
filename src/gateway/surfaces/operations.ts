import { effectiveWindow } from '../../admission/index.ts'
import type { DetectorState, PoolUse, ServedModel } from '../../cluster/index.ts'
import {
  gaugeFamily,
  type MetricFamily,
  prometheusContentType,
  renderPrometheus,
  type Sample,
} from '../../telemetry/index.ts'
import type { GatewayContext } from '../context.ts'
import { json } from './models.ts'

/** `GET /health`: the process answers. Says nothing of models; that is `/ready`. */
export const health = (): Response => json({ status: 'ok' })

/** Grounds to look at a model that serves all the same; null if there are none. */
const degradedBy = (window: number, advertised: number, detectors: readonly DetectorState[]): string | null => {
  const stale = detectors.find((detector) => detector.state === 'stale')
  const grounds = [
    ...(window < advertised ? ['the pools hold less than the advertised context window'] : []),
    ...(stale === undefined ? [] : [`${stale.role} detector ${stale.detector} was not drilled lately`]),
  ]
  return grounds.length === 0 ? null : grounds.join('; ')
}

/**
 * `GET /ready`: 200 when every served model is ready, else 503; each model says why it is not, what it is served with, and
 * in which state each worker's detectors are.
 */
export const ready = (context: GatewayContext): Response => {
  const served = new Map(context.options.engine.models().map((model) => [model.id, model]))
  const models = [...context.models.values()].map((model) => {
    const state = served.get(model.id)
    const isReady = state?.ready ?? false
    const window = effectiveWindow(model.limits)
    const detectors = state?.detectors ?? []
    return {
      id: model.id,
      ready: isReady,
      reason: isReady ? null : (state?.reason ?? 'not started'),
      degraded: degradedBy(window, model.limits.advertisedWindow, detectors),
      max_model_len: window,
      advertised_context_window: model.limits.advertisedWindow,
      integrity: model.integrity,
      ...(model.transport !== undefined && { transport: model.transport }),
      detectors: detectors.map(({ role, detector, rule, state: armed, ageSeconds }) => ({
        role,
        detector,
        rule,
        state: armed,
        last_drill_seconds: ageSeconds === null ? null : Math.round(ageSeconds),
      })),
    }
  })
  const allReady = models.every((model) => model.ready)
  return json({ ready: allReady, models }, allReady ? 200 : 503)
}

const poolSamples = (model: ServedModel): Sample[] =>
  (['prefill', 'decode'] as const).flatMap((pool) =>
    (['free', 'owned', 'draining', 'quarantined'] as const).map((state) => ({
      labels: { model: model.id, pool, state },
      value: model.pools[pool][state] + idlePages(model.pools[pool], state),
    })),
  )

/** Cached pages that nobody reads are room like any other, so they are shown as free and not as owned. */
const idlePages = ({ idle = 0 }: PoolUse, state: string): number => {
  if (state === 'free') return idle
  return state === 'owned' ? -idle : 0
}

const detectorSamples = (model: ServedModel): Sample[] =>
  (model.detectors ?? []).map(({ role, detector, state }) => ({
    labels: { model: model.id, role, detector },
    value: state === 'armed' ? 1 : 0,
  }))

const usedShare = ({ pools: { decode } }: ServedModel): number =>
  decode.total === 0 ? 0 : (decode.total - decode.free) / decode.total

const gauges = (models: readonly ServedModel[]): MetricFamily[] => {
  const each = (value: (model: ServedModel) => number, label = 'model'): Sample[] =>
    models.map((model) => ({ labels: { [label]: model.id }, value: value(model) }))
  const running = (model: ServedModel): number => model.running
  const waiting = (model: ServedModel): number => model.waiting
  return [
    gaugeFamily(
      'bulkhead_pages',
      'Pages of each pool, by state; cached pages that nobody reads are free.',
      models.flatMap(poolSamples),
    ),
    gaugeFamily(
      'bulkhead_prefix_pages',
      'Pages of the prefill pool that hold cached prefixes.',
      models.map((model) => ({ labels: { model: model.id }, value: model.pools.prefill.cached ?? 0 })),
    ),
    gaugeFamily(
      'bulkhead_model_ready',
      '1 when the model is ready.',
      each((model) => (model.ready ? 1 : 0)),
    ),
    gaugeFamily(
      'bulkhead_detector_armed',
      '1 when the detector fired in its last drill and that drill is recent; 0 when it is stale, failed or unknown.',
      models.flatMap(detectorSamples),
    ),
    gaugeFamily('bulkhead_requests_running', 'Requests that hold pages.', each(running)),
    gaugeFamily('bulkhead_queue_length', 'Requests waiting for room.', each(waiting)),
    // vLLM's names, so that boards and endpoint pickers made for it work unchanged.
    gaugeFamily(
      'vllm:num_requests_running',
      'Number of requests in model execution batches.',
      each(running, 'model_name'),
    ),
    gaugeFamily(
      'vllm:num_requests_waiting',
      'Number of requests waiting to be processed.',
      each(waiting, 'model_name'),
    ),
    gaugeFamily(
      'vllm:kv_cache_usage_perc',
      'KV-cache usage. 1 means 100 percent usage.',
      each(usedShare, 'model_name'),
    ),
  ]
}

const windows = (context: GatewayContext): MetricFamily =>
  gaugeFamily(
    'bulkhead_context_window_tokens',
    'Context window of each model, effective and advertised.',
    [...context.models.values()].flatMap(({ id, limits }) => [
      { labels: { model: id, kind: 'effective' }, value: effectiveWindow(limits) },
      { labels: { model: id, kind: 'advertised' }, value: limits.advertisedWindow },
    ]),
  )

/** `GET /metrics`: Prometheus text. Open, so it names no tenant. */
export const metrics = (context: GatewayContext): Response => {
  const families = [...context.options.metrics(), ...gauges(context.options.engine.models()), windows(context)]
  return new Response(renderPrometheus(families), {
    headers: { 'content-type': prometheusContentType, 'cache-control': 'no-store' },
  })
}

/** `GET /.well-known/security.txt` (RFC 9116). */
export const securityTxt = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
