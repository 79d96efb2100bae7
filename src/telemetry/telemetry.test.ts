import { describe, expect, it } from 'vitest'
import {
  createCounter,
  createHistogram,
  createRecorder,
  gaugeFamily,
  logRecord,
  renderHumanLine,
  renderJsonLine,
  renderPrometheus,
  type TelemetryEvent,
} from './index.ts'

describe('metrics', () => {
  it('a counter keeps its series apart and never falls', () => {
    const counter = createCounter('c_total', 'Help.')
    counter.add({ a: '1', b: '2' })
    counter.add({ b: '2', a: '1' }, 2)
    counter.add({ a: '2', b: '1' })
    counter.add({ a: '1', b: '2' }, -5)
    counter.add({ a: '1', b: '2' }, Number.NaN)
    expect(renderPrometheus([counter.family()])).toBe(
      '# HELP c_total Help.\n# TYPE c_total counter\nc_total{a="1",b="2"} 3\nc_total{a="2",b="1"} 1\n',
    )
  })

  it('a histogram is cumulative, with sum and count', () => {
    const histogram = createHistogram('h_seconds', 'Help.', [0.1, 1])
    for (const value of [0.1, 0.5, 5, Number.NaN]) histogram.observe({ m: 'x' }, value)
    expect(renderPrometheus([histogram.family()]).split('\n').slice(2, -1)).toEqual([
      'h_seconds_bucket{m="x",le="0.1"} 1',
      'h_seconds_bucket{m="x",le="1"} 2',
      'h_seconds_bucket{m="x",le="+Inf"} 3',
      'h_seconds_sum{m="x"} 5.6',
      'h_seconds_count{m="x"} 3',
    ])
  })

  it('labels cannot break out of their quotes', () => {
    const family = gaugeFamily('g', 'a\nb', [
      { labels: { m: 'x"\\\n' }, value: 1 },
      { labels: {}, value: Number.POSITIVE_INFINITY },
    ])
    expect(renderPrometheus([family])).toBe('# HELP g a\\nb\n# TYPE g gauge\ng{m="x\\"\\\\\\n"} 1\ng +Inf\n')
  })
})

const events: readonly TelemetryEvent[] = [
  { kind: 'request_admitted', model: 'm', promptTokens: 7, pages: 2 },
  { kind: 'request_refused', model: 'm', code: 'context_length_exceeded' },
  { kind: 'request_finished', model: 'm', reason: 'stop', outputTokens: 3 },
  { kind: 'request_failed', model: 'm', code: 'worker_lost' },
  { kind: 'request_aborted', model: 'm' },
  {
    kind: 'integrity_fault',
    model: 'tiny',
    role: 'decode',
    rule: 'R5',
    fault: 'page_tag',
    page: 3,
    owner: 9,
    requestId: 'req_1',
  },
  { kind: 'transfer_violation', reason: 'wrong_lease' },
  { kind: 'page_quarantined', role: 'prefill', page: 4, owner: 9, reason: 'no_proof' },
  { kind: 'page_returned', role: 'prefill', page: 4 },
  { kind: 'worker_up', role: 'decode', model: 'm', epoch: 1 },
  { kind: 'worker_down', role: 'decode', model: 'm', epoch: 1, reason: 'exit 9' },
  { kind: 'worker_up', role: 'decode', model: 'm', epoch: 2 },
  { kind: 'step', role: 'decode', model: 'm', sequences: 2, rows: 2, seconds: 0.01 },
  {
    kind: 'http_request',
    requestId: 'req_1',
    tenant: 'acme',
    method: 'GET',
    route: 'health',
    status: 200,
    seconds: 0.001,
  },
  { kind: 'first_token', model: 'm', seconds: 0.2 },
  { kind: 'token_gap', model: 'm', seconds: 0.02 },
]

describe('createRecorder', () => {
  const recorder = createRecorder()
  for (const event of events) recorder.record(event)
  const text = renderPrometheus(recorder.families())

  it.each([
    'bulkhead_requests_total{model="m",outcome="complete"} 1',
    'bulkhead_requests_total{model="m",outcome="refused"} 1',
    'bulkhead_requests_total{model="m",outcome="failed"} 1',
    'bulkhead_requests_total{model="m",outcome="aborted"} 1',
    'bulkhead_requests_refused_total{model="m",code="context_length_exceeded"} 1',
    'bulkhead_requests_failed_total{model="m",code="worker_lost"} 1',
    'bulkhead_tokens_total{model="m",kind="prompt"} 7',
    'bulkhead_tokens_total{model="m",kind="output"} 3',
    'bulkhead_pages_contracted_total{model="m"} 2',
    'bulkhead_integrity_faults_total{model="tiny",role="decode",rule="R5",fault="page_tag"} 1',
    'bulkhead_transfer_violations_total{reason="wrong_lease"} 1',
    'bulkhead_pages_quarantined_total{role="prefill",reason="no_proof"} 1',
    'bulkhead_pages_returned_total{role="prefill"} 1',
    'bulkhead_worker_starts_total{role="decode",model="m"} 2',
    'bulkhead_worker_restarts_total{role="decode",model="m"} 1',
    'bulkhead_worker_losses_total{role="decode",model="m"} 1',
    'bulkhead_forward_rows_total{role="decode",model="m"} 2',
    'bulkhead_http_requests_total{route="health",method="GET",status="200"} 1',
    'bulkhead_time_to_first_token_seconds_count{model="m"} 1',
    'bulkhead_inter_token_seconds_sum{model="m"} 0.02',
  ])('%s', (line) => {
    expect(text).toContain(`${line}\n`)
  })

  it('names no tenant and no request', () => {
    expect(text).not.toMatch(/acme|req_1|tenant/)
  })

  it('every family has a help text, a legal name and its base unit', () => {
    for (const { name, help, kind } of recorder.families()) {
      expect(name).toMatch(/^bulkhead_[a-z_]+$/)
      expect(help).toMatch(/\.$/)
      expect(name.endsWith(kind === 'counter' ? '_total' : '_seconds')).toBe(true)
    }
  })
})

describe('log lines', () => {
  const wall = Date.UTC(2026, 8, 9, 3, 4, 5)
  const line = (event: TelemetryEvent): string => renderHumanLine(logRecord(event, wall))

  it('are JSON for machines', () => {
    expect(JSON.parse(renderJsonLine(logRecord(events[5] as TelemetryEvent, wall)))).toEqual({
      time: '2026-09-09T03:04:05.000Z',
      level: 'error',
      event: 'integrity_fault',
      model: 'tiny',
      role: 'decode',
      rule: 'R5',
      fault: 'page_tag',
      page: 3,
      owner: 9,
      requestId: 'req_1',
    })
  })

  it('are short for people', () => {
    expect(line(events[10] as TelemetryEvent)).toBe(
      '03:04:05 warn  worker_down role=decode model=m epoch=1 reason="exit 9"',
    )
  })

  it('cannot be forged by a value', () => {
    expect(line({ kind: 'transfer_violation', reason: 'x\n03:04:05 info all_well\u001b[0m' })).toBe(
      '03:04:05 error transfer_violation reason="x?03:04:05 info all_well?[0m"',
    )
  })
})
