/** `1,234,567`. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** `4.1 MB`, decimal. */
export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = -1
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000
    unit += 1
  }
  return `${value.toFixed(1)} ${units[unit]}`
}

/** The value below which the share `q` (0 to 1) of the samples lies; nearest rank. NaN for no samples. */
export function quantile(samples: readonly number[], q: number): number {
  if (samples.length === 0) return Number.NaN
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] ?? sorted[0]!
}
