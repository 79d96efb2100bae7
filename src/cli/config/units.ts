const DURATIONS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const SIZES: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}

/** Milliseconds of `250ms`, `60s`, `1.5m`, `2h`; null if it is none of these or no whole number of milliseconds. */
export function parseDuration(text: string): number | null {
  return parse(text, DURATIONS)
}

/** Bytes of `512KiB`, `2GiB`, `10MB`, `100B`; null if it is none of these or no whole number of bytes. */
export function parseSize(text: string): number | null {
  return parse(text, SIZES)
}

function parse(text: string, units: Readonly<Record<string, number>>): number | null {
  const match = /^(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]{1,3})$/.exec(text)
  const unit = match === null || !Object.hasOwn(units, match[2]!) ? undefined : units[match[2]!]
  if (match === null || unit === undefined) return null
  const value = Number(match[1]) * unit
  return Number.isSafeInteger(value) ? value : null
}
