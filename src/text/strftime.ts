const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

/** C's `strftime` in UTC and English, as far as chat templates go; unknown conversions stay as they are. */
export function strftime(milliseconds: number, format: string): string {
  const date = new Date(milliseconds)
  const pad = (value: number): string => String(value).padStart(2, '0')
  const hour = date.getUTCHours()
  const conversions: Readonly<Record<string, string>> = {
    Y: String(date.getUTCFullYear()),
    y: pad(date.getUTCFullYear() % 100),
    m: pad(date.getUTCMonth() + 1),
    d: pad(date.getUTCDate()),
    e: String(date.getUTCDate()).padStart(2),
    B: MONTHS[date.getUTCMonth()]!,
    b: MONTHS[date.getUTCMonth()]!.slice(0, 3),
    A: DAYS[date.getUTCDay()]!,
    a: DAYS[date.getUTCDay()]!.slice(0, 3),
    H: pad(hour),
    I: pad(hour % 12 === 0 ? 12 : hour % 12),
    p: hour < 12 ? 'AM' : 'PM',
    M: pad(date.getUTCMinutes()),
    S: pad(date.getUTCSeconds()),
    '%': '%',
  }
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, bare: string, letter: string) => {
    const text = conversions[letter]
    if (text === undefined) return whole
    return bare === '-' ? text.replace(/^[0 ](?=.)/, '') : text
  })
}
