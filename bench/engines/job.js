/** What an engine's process is asked to measure, as JSON in its one argument. */
export function readJob() {
  return JSON.parse(process.argv[2])
}

/** The middle of a list of numbers. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}
