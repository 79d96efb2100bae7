import type { Life } from './checker.ts'

/** What a checker remembers of each life of each worker. */
export const perLife = <T>(make: (life: Life) => T): ((life: Life) => T) => {
  const known = new Map<Life, T>()
  return (life) => {
    let value = known.get(life)
    if (value === undefined) {
      value = make(life)
      known.set(life, value)
    }
    return value
  }
}
