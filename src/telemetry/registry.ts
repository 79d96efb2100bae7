/** Label names and values of one series; values come from a closed set, never from a client or a tenant's name. */
export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels: Labels
  readonly value: number
}

export interface HistogramSample {
  readonly labels: Labels
  /** Observations at or below each bound of the family, cumulative; one entry per bound. */
  readonly cumulative: readonly number[]
  readonly sum: number
  readonly count: number
}

/** One metric as a value, ready to be rendered. */
export type MetricFamily =
  | {
      readonly kind: 'counter' | 'gauge'
      readonly name: string
      readonly help: string
      readonly samples: readonly Sample[]
    }
  | {
      readonly kind: 'histogram'
      readonly name: string
      readonly help: string
      readonly bounds: readonly number[]
      readonly samples: readonly HistogramSample[]
    }

export interface Counter {
  /** Adds `amount`, which is finite and not negative; anything else is ignored, so a counter never falls. */
  add(labels: Labels, amount?: number): void
  family(): MetricFamily
}

export interface Histogram {
  observe(labels: Labels, value: number): void
  family(): MetricFamily
}

const seriesKey = (labels: Labels): string =>
  Object.keys(labels)
    .sort()
    .map((name) => `${name}=${labels[name]}`)
    .join('\u0000')

/** A counter with any number of series, kept in the order they first appeared. */
export const createCounter = (name: string, help: string): Counter => {
  const series = new Map<string, { readonly labels: Labels; value: number }>()
  return {
    add(labels, amount = 1): void {
      if (!Number.isFinite(amount) || amount < 0) return
      const key = seriesKey(labels)
      const found = series.get(key)
      if (found) found.value += amount
      else series.set(key, { labels, value: amount })
    },
    family: () => ({
      kind: 'counter',
      name,
      help,
      samples: [...series.values()].map(({ labels, value }) => ({ labels, value })),
    }),
  }
}

/** A histogram with fixed upper bounds in ascending order; `+Inf` is implied. */
export const createHistogram = (name: string, help: string, bounds: readonly number[]): Histogram => {
  const series = new Map<string, { readonly labels: Labels; readonly counts: number[]; sum: number; count: number }>()
  return {
    observe(labels, value): void {
      if (!Number.isFinite(value)) return
      const key = seriesKey(labels)
      let found = series.get(key)
      if (!found) {
        found = { labels, counts: bounds.map(() => 0), sum: 0, count: 0 }
        series.set(key, found)
      }
      const slot = bounds.findIndex((bound) => value <= bound)
      if (slot >= 0) found.counts[slot] = (found.counts[slot] ?? 0) + 1
      found.sum += value
      found.count += 1
    },
    family: () => ({
      kind: 'histogram',
      name,
      help,
      bounds,
      samples: [...series.values()].map(({ labels, counts, sum, count }) => {
        let running = 0
        return { labels, cumulative: counts.map((here) => (running += here)), sum, count }
      }),
    }),
  }
}

/** A gauge is read when it is scraped, so it is only a value. */
export const gaugeFamily = (name: string, help: string, samples: readonly Sample[]): MetricFamily => ({
  kind: 'gauge',
  name,
  help,
  samples,
})
