import type { Labels, MetricFamily } from './registry.ts'

const escapeHelp = (text: string): string => text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')
const escapeValue = (text: string): string => escapeHelp(text).replace(/"/g, '\\"')

const number = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN'
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}

const labelText = (labels: Labels): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const lines = (family: MetricFamily): string[] => {
  if (family.kind !== 'histogram') {
    return family.samples.map(({ labels, value }) => `${family.name}${labelText(labels)} ${number(value)}`)
  }
  return family.samples.flatMap(({ labels, cumulative, sum, count }) => [
    ...family.bounds.map(
      (bound, i) => `${family.name}_bucket${labelText({ ...labels, le: number(bound) })} ${number(cumulative[i] ?? 0)}`,
    ),
    `${family.name}_bucket${labelText({ ...labels, le: '+Inf' })} ${number(count)}`,
    `${family.name}_sum${labelText(labels)} ${number(sum)}`,
    `${family.name}_count${labelText(labels)} ${number(count)}`,
  ])
}

/** Content type of `renderPrometheus`. */
export const prometheusContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Prometheus text exposition format 0.0.4; families without samples still show their HELP and TYPE. */
export const renderPrometheus = (families: readonly MetricFamily[]): string =>
  families
    .flatMap((family) => [
      `# HELP ${family.name} ${escapeHelp(family.help)}`,
      `# TYPE ${family.name} ${family.kind}`,
      ...lines(family),
    ])
    .map((line) => `${line}\n`)
    .join('')
