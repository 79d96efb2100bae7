/**
 * Every decision of a simulation comes from here, so a seed replays a whole cluster. `label` names what is decided; it takes
 * no part in the draw.
 */
export interface Oracle {
  /** A whole number from 0 to n - 1. */
  choose(label: string, n: number): number
  /** True with this probability. */
  chance(label: string, probability: number): boolean
}

/** sfc32, Chris Doty-Humphrey's small fast counting generator (PractRand), 128 bits of state, seeded by one number. */
export const seededOracle = (seed: number): Oracle => {
  let a = 0x9e3779b9
  let b = seed >>> 0
  let c = Math.floor(seed / 4_294_967_296) >>> 0
  let counter = 1
  const next = (): number => {
    const sum = (a + b + counter++) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let i = 0; i < 15; i++) next()
  return {
    choose: (_label, n) => next() % n,
    // A rate of zero draws nothing: what a seed leaves out costs it no numbers.
    chance: (_label, probability) => probability > 0 && next() < probability * 4_294_967_296,
  }
}
