export type { Role, TelemetryEvent } from './events.ts'
export { type LogLevel, type LogRecord, logLevel, logRecord, renderHumanLine, renderJsonLine } from './log.ts'
export { oneLine } from './one-line.ts'
export { prometheusContentType, renderPrometheus } from './prometheus.ts'
export { createRecorder, type Recorder } from './recorder.ts'
export {
  type Counter,
  createCounter,
  createHistogram,
  gaugeFamily,
  type Histogram,
  type HistogramSample,
  type Labels,
  type MetricFamily,
  type Sample,
} from './registry.ts'
